"""One valid attack, its overflow table, and one valid pollutant class, for tests to break."""

from __future__ import annotations

from isolation_kit.content import TOKEN

ATTACK = f"""
id = "demo"
family = "noise-injection"
title = "A demo"
models = "What it models."
source = "article 000 section 4.7"
link = ""
maps = ["CWE-200"]
[[carrier]]
slot = "child.tool.noise"
language = "en"
shape = "json"
text = '{{"trace_id": "{TOKEN}"}}'
[[example]]
slot = "user.earlier"
channel = "child.request"
counts = true
text = "x {TOKEN}"
why = "w"
[structure]
users = ["u_0", "u_1"]
order = [0, 1, 0]
sessions = ["a", "b", "a"]
subjects = ["张伟", "李娜"]
about = [0, 1, 0]
follow_up = true
"""
OVERFLOW = """
[overflow]
of = "task"
sizes = ["limit", "10x"]
atoms = ["word ", "账单"]
"""
CLASS = r"""
id = "demo"
severity = "low"
names = ["demo_field"]
slots = []
values = ['\A[0-9]{4}\Z']
matches = ["demoField"]
misses = ["amount"]
source = "article 000 section 5.4"
link = "https://example.org/1"
rule = '''
[[filter]]
field = ["demo_field"]
action = "drop"
reason = "r"
'''
title = { en = "Demo", zh = "演示" }
symptom = { en = "s", zh = "现象" }
cause = { en = "c", zh = "原因" }
remedy = { en = "r", zh = "办法" }
"""
