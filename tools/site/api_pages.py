# SPDX-License-Identifier: MIT
"""Pages of reference from what Doxygen read: one for each header of C++, and one for C. A declaration is a heading, the code, and its comment."""
import re
import textwrap
import xml.etree.ElementTree as ElementTree

SPECIAL = re.compile(r"([\\`*_\[\]<>#|$~])")
INTRODUCTION = re.compile(r"\A// SPDX[^\n]*\n((?://[^\n]*\n)+)")
C_INTRODUCTION = re.compile(r"\A/\* SPDX[^\n]*\n(.*?)\*/", re.S)
WIDTH = 84  # characters in a line of code on a page


def escaped(text):
    return SPECIAL.sub(r"\\\1", text)


def inline(node):
    """The text of a paragraph, with its markup as Markdown."""
    out = [escaped(node.text or "")]
    for child in node:
        inner = inline(child)
        if child.tag in ("bold", "emphasis", "computeroutput") and inner.strip():
            mark = {"bold": "**", "emphasis": "*", "computeroutput": "`"}[child.tag]
            out.append(mark + ("".join(child.itertext()) if mark == "`" else inner) + mark)
        elif child.tag in ("itemizedlist", "orderedlist"):
            out.append("\n" + "".join(f"\n- {' '.join(inline(para).strip() for para in item)}" for item in child) + "\n\n")
        elif child.tag == "parameterlist":
            out.append("\n" + "".join(f"\n- `{item.findtext('.//parametername')}`: {inline(item.find('.//parameterdescription/para')).strip()}"
                                      for item in child) + "\n\n")
        elif child.tag == "table":
            rows = [[" ".join(inline(para).strip() for para in cell) for cell in row] for row in child]
            out.append("\n\n" + "\n".join("| " + " | ".join(row) + " |" + ("\n" + "|---" * len(row) + "|" if not i else "")
                                            for i, row in enumerate(rows)) + "\n\n")
        elif child.tag in ("preformatted", "verbatim", "programlisting"):
            out.append("\n\n```text\n" + "".join(child.itertext()).strip("\n") + "\n```\n\n")
        else:
            out.append(inner)
        out.append(escaped(child.tail or ""))
    return "".join(out)


def described(node):
    """What the comment of a declaration says, as Markdown."""
    paragraphs = []
    for part in ("briefdescription", "detaileddescription"):
        for para in node.findall(f"{part}/para"):
            paragraphs.append(inline(para).strip())
    return "\n\n".join(filter(None, paragraphs))


def tidy(code):
    code = re.sub(r"\s+", " ", code).strip()
    code = re.sub(r"(?<=\w)< ", "<", code)
    code = re.sub(r" >(?=[,)> &*]|::|$)", ">", code)
    if "operator" not in code:
        code = re.sub(r"(?<![=<>!])\s*=\s*(?!=)", " = ", code)
    code = re.sub(r" ([*&]+)(?=[\w ]|$)", r"\1 ", re.sub(r" +", " ", code)).replace("( ", "(")
    return re.sub(r" +", " ", code).strip()


def wrapped(head, arguments):
    """A declaration that fits the page: its arguments under each other where they are many."""
    first, _, last = head.rpartition("\n")
    if len(last + arguments) < WIDTH or "(" not in arguments:
        return head + arguments + ";"
    indent = " " * (len(last) + 1 if len(last) < 45 else 4)
    # Only what stands behind a comma begins a line.
    held = (last + arguments).replace(", ", ",\0").replace(" ", "\1").replace("\0", " ")
    rows = textwrap.wrap(held, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return (first + "\n" if first else "") + "\n".join(rows).replace("\1", " ") + ";"


def template_of(node):
    parameters = node.find("templateparamlist")
    if parameters is None:
        return ""
    return "template <" + ", ".join(" ".join(filter(None, ["".join(p.find("type").itertext()), p.findtext("declname")])) for p in parameters) + ">\n"


def declaration(member):
    kind, name = member.get("kind"), member.findtext("name")
    if kind == "define":
        parameters = member.findall("param/defname")
        value = "".join(member.find("initializer").itertext()) if member.find("initializer") is not None else ""
        return f"#define {name}{'(' + ', '.join(p.text for p in parameters) + ')' if parameters else ''} {value}".rstrip()
    if kind == "enum":
        values = [value.findtext("name") + (" " + value.findtext("initializer") if value.find("initializer") is not None else "")
                  for value in member.findall("enumvalue")]
        return f"enum {name} {{ {', '.join(values)} }};"
    type_ = tidy("".join(member.find("type").itertext()))
    if kind == "typedef":
        if member.findtext("definition").startswith("using"):
            return f"using {name} = {type_};"
        return re.sub(r"kizami::", "", tidy(member.findtext("definition"))) + ";"
    head = template_of(member) + (type_ + " " if type_ else "") + name
    arguments = tidy(member.findtext("argsstring") or "")
    if kind == "variable":
        value = "".join(member.find("initializer").itertext()) if member.find("initializer") is not None else ""
        return f"{head}{arguments}{' ' + tidy(value) if 0 < len(value) < 80 else ''};"
    return wrapped(head, arguments)


def enumeration(member, name, level):
    code = f"```cpp\nenum class {name};\n```" if member.get("strong") == "yes" else f"```c\ntypedef int {name};\n```"
    lines = [f"{level} {escaped(name)}", "", code, "",
             described(member), "", "| enumerator | |", "|---|---|"]
    for value in member.findall("enumvalue"):
        number = value.findtext("initializer") or ""
        text = described(value).replace("\n", " ")
        lines.append(f"| `{value.findtext('name')}{' ' + number if number else ''}` | {text} |")
    return lines + [""]


def members_of(compound):
    return [member for member in compound.iter("memberdef") if member.get("prot") == "public"]


def line_of(node):
    return int(node.find("location").get("line"))


def section(name, code, text, level, language):
    return [f"{level} {escaped(name)}", "", f"```{language}", code, "```", "", text, ""]


def grouped(members):
    """Overloads that follow each other stand under one heading."""
    out = []
    for member in members:
        if out and member.get("kind") == "function" and out[-1][-1].findtext("name") == member.findtext("name"):
            out[-1].append(member)
        else:
            out.append([member])
    return out


def unescaped(text):
    return re.sub(r"\\([^a-zA-Z0-9\s])", r"\1", text)


def listing(members):
    """Members with a line or two each, as one block of code with comments."""
    if not members:
        return []
    rows = []
    for code, remark in members:
        if remark and "\n" not in code and len(code) + len(remark) < WIDTH - 4:
            rows.append(f"{code}  // {remark}")
        else:
            rows += [*textwrap.wrap(remark, WIDTH, initial_indent="// ", subsequent_indent="// "), code]
    return ["```cpp", *rows, "```", ""]


def of_class(compound, level):
    name = re.sub(r"^kizami::(cuda::)?", "", compound.findtext("compoundname"))
    lines = section(name, f"{template_of(compound)}{compound.get('kind')} {name};", described(compound), level, "cpp")
    short = []
    for group in grouped(sorted(members_of(compound), key=line_of)):
        member = group[0]
        own = member.findtext("name")
        if own.startswith("operator") or own.startswith("~") or own == "impl" or (own == name.split("::")[-1] and not described(member)):
            continue
        if member.get("kind") == "enum":
            lines += listing(short) + enumeration(member, f"{name}::{own}", level + "#")
            short = []
            continue
        code, text = "\n".join(declaration(one) for one in group), "\n\n".join(filter(None, map(described, group)))
        if "\n\n" in text or "**" in text:
            lines += [*listing(short), "```cpp", code, "```", "", text, ""]
            short = []
        else:
            short.append((code, unescaped(text)))
    return lines + listing(short)


def compounds_of(xml):
    for entry in ElementTree.parse(xml / "index.xml").getroot():
        yield ElementTree.parse(xml / f"{entry.get('refid')}.xml").getroot().find("compounddef")


def introduction(header):
    text = header.read_text()
    found = INTRODUCTION.search(text)
    lines = [re.sub(r"^// ?", "", line) for line in found[1].splitlines()] if found else []
    if not found and C_INTRODUCTION.search(text):
        lines = [re.sub(r"^ \* ?", "", line) for line in C_INTRODUCTION.search(text)[1].rstrip().splitlines()]
    # An indented formula stays as it is written, and so does a list.
    out, code, in_list = [], False, False
    for line in lines:
        formula = line.startswith("  ") and not line.lstrip().startswith("- ") and not (out and out[-1].lstrip().startswith("- ")) or (code and line.startswith("  "))
        if formula != code:
            out.append("```" if code else "\n```text")
            code = formula
        if not code and line.lstrip().startswith("- ") and out and out[-1].strip() and not out[-1].lstrip().startswith("- ") and not in_list:
            out.append("")
        in_list = not code and bool(line.strip()) and (in_list or line.lstrip().startswith("- "))
        out.append(line.rstrip() if code else escaped(re.sub(r"^ - ", "- ", line)))
    return "\n".join(out + (["```"] if code else []))


def cpp_pages(xml, include, headers):
    """{page: text}: a page for each header of C++ that declares something, by its name."""
    by_file = {}
    for compound in compounds_of(xml):
        kind = compound.get("kind")
        if kind == "namespace":
            for member in members_of(compound):
                by_file.setdefault(member.find("location").get("file"), []).append((line_of(member), member))
        elif kind in ("class", "struct"):
            if "<" not in compound.findtext("compoundname"):
                by_file.setdefault(compound.find("location").get("file"), []).append((line_of(compound), compound))
    pages = {}
    for header in headers:
        spelling = str(header.relative_to(include))
        entries = [node for _, node in sorted(by_file.get(spelling, []), key=lambda entry: entry[0])]
        entries = [node for node in entries if not (node.findtext("name") or "").startswith("operator")]
        if not entries:
            continue
        lines = [f"# {spelling}", "", f"```cpp\n#include <{spelling}>\n```", "", introduction(header), ""]
        nested = {node.findtext("compoundname") for node in entries if node.tag == "compounddef"}
        for group in grouped(entries):
            node = group[0]
            if node.tag == "compounddef":
                inner = node.findtext("compoundname").rpartition("::")[0] in nested
                lines += of_class(node, "###" if inner else "##")
            elif node.get("kind") == "enum":
                lines += enumeration(node, node.findtext("name"), "##")
            else:
                code = "\n".join(declaration(one) for one in group)
                lines += section(node.findtext("name"), code, "\n\n".join(filter(None, map(described, group))), "##", "cpp")
        pages[header.stem] = "\n".join(lines) + "\n"
    return pages


def c_page(xml, header):
    """The page of kizami.h, in the order and under the titles of the header."""
    text = header.read_text()
    titles = [(text[:found.start()].count("\n") + 1, found[1]) for found in re.finditer(r"^/\* -{4} (.*?)[.]? -{4,} \*/$", text, re.M)]
    titles = [(line, title.split(". ")[0]) for line, title in titles]
    entries, typedefs = [], {}
    for compound in compounds_of(xml):
        if compound.get("kind") == "file" and compound.findtext("compoundname") == header.name:
            for member in members_of(compound):
                entries.append((line_of(member), member))
        elif compound.get("kind") == "struct" and compound.find("location").get("file") == f"kizami/{header.name}":
            entries.append((line_of(compound), compound))
    source = text.splitlines()
    for number, member in entries:
        if member.get("kind") == "typedef" and number < len(source) and source[number] == "enum {":
            typedefs[number + 1] = member
    lines = ["# C: kizami.h", "", "```c\n#include <kizami/kizami.h>\n```", "", introduction(header), ""]
    for number, node in sorted(entries, key=lambda entry: entry[0]):
        while titles and titles[0][0] < number:
            lines += [f"## {titles.pop(0)[1]}", ""]
        if node.get("kind") == "enum":
            typedef = typedefs.get(number)
            node.find("detaileddescription").extend(typedef.findall("detaileddescription/para") + typedef.findall("briefdescription/para"))
            lines += enumeration(node, typedef.findtext("name"), "###") + [""]
        elif node in typedefs.values() or (node.findtext("name") or "").endswith("_H"):
            continue
        elif node.tag == "compounddef":
            lines += [f"### {escaped(node.findtext('compoundname'))}", "", described(node), "", "| member | |", "|---|---|"]
            for member in sorted(members_of(node), key=line_of):
                code = f"{''.join(member.find('type').itertext())} {member.findtext('name')}{member.findtext('argsstring') or ''}"
                remark = described(member).replace("\n", " ")
                lines.append(f"| `{code}` | {remark} |")
            lines.append("")
        elif node.get("kind") == "typedef" and "struct" in "".join(node.find("type").itertext()) and node.findtext("name") in text and \
                any(entry.tag == "compounddef" and entry.findtext("compoundname") == node.findtext("name") for _, entry in entries):
            continue
        else:
            lines += section(node.findtext("name"), declaration(node), described(node), "###", "c")
    return "\n".join(lines) + "\n"
