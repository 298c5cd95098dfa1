# Ubuntu 24.04 on AWS. Whoever runs this brings credentials by AWS's own ways; the machine has none. No key pair is
# made in the account: the public key comes by user data. The image is the account's alone: neither groups nor users
# are given it.

source "amazon-ebs" "node" {
  region        = var.region
  instance_type = var.machine_type

  # Of Canonical's own account, whatever base_version says (ubuntu.com/server, "Find Ubuntu images on AWS").
  source_ami = var.base_version
  source_ami_filter {
    owners      = ["099720109477"]
    most_recent = true
    filters = {
      name                = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*"
      root-device-type    = "ebs"
      virtualization-type = "hvm"
    }
  }

  ami_name        = local.name
  ami_description = "Longhaul ${var.kind} ${var.image_version}"
  tags            = local.tags
  snapshot_tags   = local.tags
  run_tags        = merge(local.tags, local.bake_tags)
  run_volume_tags = merge(local.tags, local.bake_tags)
  ena_support     = true

  # From the first byte on: what is encrypted while it is baked needs no copy, and every snapshot is.
  launch_block_device_mappings {
    device_name           = "/dev/sda1"
    volume_type           = "gp3"
    volume_size           = 30
    encrypted             = true
    kms_key_id            = var.encryption_key
    delete_on_termination = true
  }

  subnet_id                             = var.subnet
  associate_public_ip_address           = var.subnet == ""
  ssh_interface                         = var.subnet == "" ? "public_ip" : "private_ip"
  temporary_security_group_source_cidrs = var.ssh_sources
  shutdown_behavior                     = "terminate"
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  ssh_username         = "ubuntu"
  ssh_private_key_file = var.ssh_private_key_file
  user_data            = "#cloud-config\nssh_authorized_keys: [${jsonencode(var.ssh_public_key)}]\n"
}
