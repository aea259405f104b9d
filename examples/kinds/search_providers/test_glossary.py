import pytest
from leadline_glossary import Glossary, GlossarySettings

from leadline.plugin import SearchRequest
from leadline.testing.contracts import SearchProviderContract


class TestGlossary(SearchProviderContract):
    tested = Glossary

    @pytest.fixture
    def settings(self, tmp_path):
        file = tmp_path / "glossary.csv"
        file.write_text("term,url,text\nfathom,https://a.example/,Six feet.\nfath,https://b.example/,Short.\n")
        return GlossarySettings(file=file)

    @pytest.fixture
    def requests(self):
        return [SearchRequest(query="How long is a fathom?")]
