"""The rules of the diagnosis, by the object that they judge. ../diagnose.py calls them in their order.

Rules: launch (missing instances), nodes, gpus, hardware, software, network, pods with workloads. node.py and pod.py
read one API document each, symptoms.py owns the texts that tools print, and quotes.py makes evidence of them.
"""
