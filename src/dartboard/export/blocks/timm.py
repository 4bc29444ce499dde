# mypy: disable-error-code="no-any-return"
"""The interface of timm models."""

from torch import Tensor, nn

from dartboard.export.blocks.network import CLASSES, INPUT, Network


class TimmNetwork(Network):
    """The network with the interface of timm models.

    Args:
        num_classes: Number of classes; 0 for none, it returns pooled features then.
        in_chans: Channels of the images.
    """

    def __init__(self, num_classes: int = len(CLASSES), in_chans: int = INPUT[0]) -> None:
        super().__init__(image=in_chans)
        self.head_hidden_size = self.num_features
        self.reset_classifier(num_classes)

    def get_classifier(self) -> nn.Module:
        """The last layer."""
        return self.head

    def reset_classifier(self, num_classes: int) -> None:
        """Replace the last layer by a new one for a number of classes; 0 for none."""
        self.num_classes = num_classes
        self.head = nn.Linear(self.num_features, num_classes) if num_classes else nn.Identity()

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Logits, or the input of the last layer, from features [N, num_features, H, W]."""
        pooled = x.mean(dim=(2, 3))
        return pooled if pre_logits else self.head(pooled)

    def forward(self, x: Tensor) -> Tensor:
        return self.forward_head(self.forward_features(x))
