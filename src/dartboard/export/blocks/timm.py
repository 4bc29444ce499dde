# mypy: disable-error-code="no-any-return"
"""What timm asks of its models."""

from torch import Tensor, nn

from dartboard.export.blocks.network import CLASSES, INPUT, Network


class TimmNetwork(Network):
    """The network with what timm asks of its models.

    Args:
        num_classes: How many classes it tells apart; 0 for none, it gives its features then.
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
        """Puts a fresh last layer for so many classes in the place of the old one; 0 for none."""
        self.num_classes = num_classes
        self.head = nn.Linear(self.num_features, num_classes) if num_classes else nn.Identity()

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Logits, or what the last layer sees, from features [N, num_features, H, W]."""
        pooled = x.mean(dim=(2, 3))
        return pooled if pre_logits else self.head(pooled)

    def forward(self, x: Tensor) -> Tensor:
        return self.forward_head(self.forward_features(x))
