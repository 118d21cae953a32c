"""The bring-up of lifecycle nodes by their manager: how long does it take until all are active?"""
