"""The cluster's API for operators: identities, kubeconfigs, and locks that one run at a time holds."""
