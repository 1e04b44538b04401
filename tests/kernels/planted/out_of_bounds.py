from common import Planted


class ModelNew(Planted):
    which = 1
