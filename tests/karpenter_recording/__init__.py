"""What the real Karpenter does in a day's events of a static NodePool, as data.

`python -m tests.karpenter_recording` plays the events with the real controller, in real time, and writes
recording.json. recording.py reads it. Tests compare with it what stands for Karpenter elsewhere: the imitation of EKS
Auto Mode, and what the pages say about Karpenter's times.
"""
