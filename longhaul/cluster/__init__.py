"""The cluster's API as operators reach it: identities, kubeconfigs, and locks that one run at a time holds."""
