# SPDX-License-Identifier: Apache-2.0
"""The rules of the house, one file per subject. tools/check runs them."""
