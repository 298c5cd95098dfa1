"""AWS in the lab: moto's API with our corrections, which :mod:`lab.cloud.aws.differences` lists."""
