# SPDX-License-Identifier: MIT
# Sphinx reads this in the source folder that build.py made, which says the version.
import os

project = "Kizami"
author = "Kizami contributors"
copyright = "Kizami contributors, MIT licence"
version = release = os.environ["KIZAMI_VERSION"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = []
highlight_language = "none"
nitpicky = False
suppress_warnings = [
    "myst.header",               # pages that begin below a title of their own
    "misc.highlighting_failure", # code that shows a grammar, not a program
]
myst_heading_anchors = 6

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
add_module_names = False

html_theme = "furo"
html_title = f"Kizami {version}"
html_static_path = ["_static"]
html_css_files = ["kizami.css"]
html_js_files = [("../../versions.js", {"defer": "defer"}), ("versions_menu.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
html_baseurl = ""
templates_path = ["_templates"]
html_sidebars = {"**": ["sidebar/brand.html", "sidebar/search.html", "sidebar/scroll-start.html", "sidebar/navigation.html", "sidebar/scroll-end.html",
                        "versions.html"]}


def setup(app):
    # Docstrings are plain text, where |A||B| is a product of magnitudes and no substitution.
    app.connect("autodoc-process-docstring", lambda app, what, name, obj, options, lines: lines.__setitem__(slice(None), [line.replace("|", "\\|") for line in lines]))
