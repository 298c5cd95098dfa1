# What every cloud's image is made by: the playbook that makes the lab's too. `longhaul image build` runs it with Packer
# and its plugins from tools.toml; azure.pkr.hcl and aws.pkr.hcl say what the machine is that gets baked.

packer {
  required_version = "= 1.11.2"
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "= 1.2.1"
    }
    azure = {
      source  = "github.com/hashicorp/azure"
      version = "= 1.4.5"
    }
  }
}

variable "tags" {
  type        = map(string)
  description = "Tags that every resource of the site has (clouds/base/tags.py); nothing in the image depends on them."
}

variable "region" {
  type        = string
  description = "The cloud's name of the site's region."
}

variable "kind" {
  type        = string
  description = "What is baked: node or gpu."
  validation {
    condition     = contains(["node", "gpu"], var.kind)
    error_message = "The kind is node or gpu."
  }
}

variable "image_version" {
  type        = string
  description = "The image's version, MAJOR.MINOR.PATCH as Azure's galleries want it."
  validation {
    condition     = can(regex("^(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)){2}$", var.image_version))
    error_message = "The version is MAJOR.MINOR.PATCH, three numbers."
  }
}

variable "commit" {
  type        = string
  description = "The git commit of playbooks and images, with -dirty where the checkout had changes."
}

variable "sources_digest" {
  type        = string
  description = "SHA-256 of the playbook, its roles, images/ and the pins: what the image is made by."
}

variable "machine_type" {
  type        = string
  description = "The type of the machine that gets baked."
}

variable "subnet" {
  type        = string
  default     = ""
  description = "Id of the subnet to bake in, by private address; empty for the cloud's own and a public one."
}

variable "ssh_sources" {
  type        = list(string)
  description = "Ranges that may reach the machine's SSH port while it is baked."
  validation {
    condition     = length(var.ssh_sources) > 0 && !contains(var.ssh_sources, "0.0.0.0/0")
    error_message = "Somebody has to reach the machine, and not everybody may."
  }
}

variable "ssh_private_key_file" {
  type        = string
  description = "A key made for this bake alone; it never leaves the operator's machine."
}

variable "ssh_public_key" {
  type        = string
  description = "Its public half."
}

variable "encryption_key" {
  type        = string
  default     = ""
  description = "AWS: a KMS key; Azure: a disk encryption set. Empty for the cloud's own key."
}

variable "base_version" {
  type        = string
  default     = ""
  description = "AWS: the id of Ubuntu's image; Azure: its version. Empty for the newest."
}

variable "playbook_command" {
  type        = string
  description = "Program that takes HOST PORT USER and runs playbooks/image.yml there."
}

variable "result" {
  type        = string
  description = "Path of the file that Packer notes the image's id in."
}

locals {
  name = "longhaul-${var.kind}-${var.image_version}"
  # What looks for leftovers looks for longhaul-bake: a machine has it, and on AWS an image has not.
  bake_tags = { longhaul-bake = local.name }
  tags = merge(var.tags, {
    Name                   = local.name
    longhaul-image         = var.image_version
    longhaul-image-kind    = var.kind
    longhaul-image-commit  = var.commit
    longhaul-image-sources = var.sources_digest
  })
}

build {
  name = "longhaul"
  sources = [
    "source.amazon-ebs.node",
    "source.azure-arm.node",
  ]

  # First boot has apt and the file system for itself. Exit code 2: it is done, and had warnings.
  provisioner "shell" {
    inline = ["cloud-init status --wait >/dev/null || [ $? -eq 2 ]"]
  }

  # Not by Packer's plugin for Ansible, which cannot be had with a checksum. The script itself is the process that a
  # build which is cancelled kills.
  provisioner "shell-local" {
    execute_command = ["{{.Script}}"]
    inline_shebang  = "/bin/sh -eu"
    inline          = ["exec '${var.playbook_command}' '${build.Host}' '${build.Port}' '${build.User}'"]
  }

  # Nothing of this one machine stays in the image: accounts and keys of the bake, host keys, machine id, what
  # cloud-init knows. The script is not removed over the connection: there may be no account to come back with.
  provisioner "shell" {
    execute_command = "sudo sh -eu '{{.Path}}'"
    skip_clean      = true
    inline = [
      "apt-get clean",
      "rm -rf /var/cache/longhaul",
      "cloud-init clean --logs --machine-id",
      "if command -v waagent >/dev/null; then waagent -force -deprovision+user; fi",
      "rm -f /etc/ssh/ssh_host_* /root/.ssh/authorized_keys /home/*/.ssh/authorized_keys",
      "sync",
    ]
  }

  post-processor "manifest" {
    output = var.result
  }
}
