"""Lifecycle nodes and the manager that brings them up: how long until all are active?"""
