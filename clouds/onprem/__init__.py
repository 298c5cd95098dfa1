"""Facts about on-premises sites: bare-metal hosts in the operator's own racks. Declarations for Pulumi are in
components/onprem."""
