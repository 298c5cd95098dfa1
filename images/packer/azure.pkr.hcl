# Ubuntu 24.04 on Azure, into a compute gallery that is there already. Who runs this is signed in with the Azure CLI, or
# has a service principal's secret in the environment. The machine has no identity.

variable "azure_subscription" {
  type        = string
  default     = ""
  description = "The site's subscription, where the machine gets baked."
}

variable "azure_tenant" {
  type        = string
  default     = ""
  description = "Its tenant."
}

variable "azure_client_id" {
  type        = string
  default     = ""
  description = "A service principal; empty for who is signed in with the Azure CLI."
}

variable "azure_client_secret" {
  type        = string
  default     = ""
  sensitive   = true
  description = "Its secret, by PKR_VAR_azure_client_secret alone."
}

variable "azure_gallery" {
  type = object({
    subscription   = string
    resource_group = string
    gallery        = string
    definition     = string
  })
  default     = { subscription = "", resource_group = "", gallery = "", definition = "" }
  description = "The gallery's image definition that gets a version (docs/images.md)."
}

variable "azure_replicas" {
  type        = number
  default     = 3
  description = "Copies of the image version in its region, which machines are made from."

  validation {
    condition     = var.azure_replicas >= 3 && var.azure_replicas <= 100
    error_message = "From 3 to 100."
  }
}

variable "azure_image_storage" {
  type        = string
  default     = "Standard_ZRS"
  description = "Standard_ZRS, or Standard_LRS in a region without zones."
}

variable "azure_network" {
  type = object({
    resource_group = string
    network        = string
    subnet         = string
  })
  default     = { resource_group = "", network = "", subnet = "" }
  description = "What the subnet's id says; empty for a network that is made for the bake."
}

source "azure-arm" "node" {
  subscription_id    = var.azure_subscription
  tenant_id          = var.azure_tenant
  client_id          = var.azure_client_id
  client_secret      = var.azure_client_secret
  use_azure_cli_auth = var.azure_client_secret == ""

  location        = var.region
  vm_size         = var.machine_type
  os_type         = "Linux"
  image_publisher = "Canonical"
  image_offer     = "ubuntu-24_04-lts"
  image_sku       = "server"
  image_version   = var.base_version == "" ? "latest" : var.base_version

  shared_image_gallery_destination {
    subscription         = var.azure_gallery.subscription
    resource_group       = var.azure_gallery.resource_group
    gallery_name         = var.azure_gallery.gallery
    image_name           = var.azure_gallery.definition
    image_version        = var.image_version
    replication_regions  = [var.region]
    storage_account_type = var.azure_image_storage
  }
  shared_image_gallery_replica_count = var.azure_replicas
  azure_tags = merge(local.tags, local.bake_tags)

  encryption_at_host     = true
  disk_encryption_set_id = var.encryption_key

  # All that the bake makes is in this one group, which goes with it.
  temp_resource_group_name               = "${local.name}-bake"
  virtual_network_resource_group_name    = var.azure_network.resource_group
  virtual_network_name                   = var.azure_network.network
  virtual_network_subnet_name            = var.azure_network.subnet
  private_virtual_network_with_public_ip = false
  allowed_inbound_ip_addresses           = var.subnet == "" ? var.ssh_sources : []

  ssh_username         = "longhaul-bake"
  ssh_private_key_file = var.ssh_private_key_file
}
