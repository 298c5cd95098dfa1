"""AWS in the lab: moto's API with the corrections that :mod:`lab.cloud.aws.differences` lists."""
