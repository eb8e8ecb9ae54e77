"""What the search page is given of a page: its sections, each with its own words."""

from press.search_text import complete_search, sections

PAGE = """<article class="bd-article"><section id="top"><h1>A <em>page</em><a class="headerlink">#</a></h1>
<p>First \\(x^2\\) words.</p><pre>code()</pre>
<svg><svg>a</svg><text>drawn</text></svg><section id="inner"><h2>Inner</h2><p>Its own.</p></section><p>Last.</p>
<article class="icl-card" id="claim-a.b"><h3><code>a.b</code></h3><p>A claim.</p></article></section></article>"""


def test_sections_have_their_own_words_only():
    found = sections(PAGE)
    assert found == [
        ("top", "A page", "First x^2 words. Last."),
        ("inner", "Inner", "Its own."),
        ("claim-a.b", "a.b", "A claim."),
    ]


def test_the_search_page_loads_what_lies_beside_its_index(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "a.html").write_text(f"<body>{PAGE}</body>")
    (tmp_path / "search.html").write_text("<body></body>")
    complete_search(tmp_path, ["book/a"])
    text = (tmp_path / "_static" / "search" / "book-a.js").read_text()
    assert text.startswith('iclFound(...["book/a", [["top", "A page"') and "code()" not in text
    assert (tmp_path / "search.html").read_text().count("_static/search.js") == 1
