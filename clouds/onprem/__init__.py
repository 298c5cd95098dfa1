"""On-premises: bare-metal hosts in the operator's own racks."""
