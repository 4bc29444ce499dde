"""The settings of a search: where they come from, and the configuration they make."""

from dartboard.config.loader import Form
from dartboard.search.config import SearchConfig
from dartboard.search.recipes import RECIPES

SEARCH = Form(SearchConfig, RECIPES, "DARTBOARD_SEARCH_")
load_config, merge, validate = SEARCH.load, SEARCH.merge, SEARCH.validate
