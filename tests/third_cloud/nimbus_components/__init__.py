"""What is made in Nimbus."""
