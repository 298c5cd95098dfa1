"""On-premises, bare-metal hosts in the operator's own racks: facts about them. Data for Pulumi: components/onprem."""
