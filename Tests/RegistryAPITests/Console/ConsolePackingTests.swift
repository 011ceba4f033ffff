import Testing

@testable import ConsoleFiles

@Suite("Scripts and style sheets are packed without changing what they do")
struct ConsolePackingTests {
    @Test func modules_becomeOneScript_inTheOrderOfTheirImports() throws {
        let script = try Self.script([
            "app.js": "import {last} from './b/last.js';\nimport './first.js';\nlast();\n",
            "first.js": "// First.\nglobalThis.first = 1;\n",
            "b/last.js": "import {twice as again} from '../c.js';\nexport function last() {\n  return again(2);\n}\n",
            "c.js": "/** Twice. */\nexport const twice = (number) => number * 2;\n",
        ])
        let expected = /let (.)=a=>a\*2;function (.)\(\)\{return \1\(2\);?\}\s?globalThis\.first=1;\s?\2\(\);/
        #expect(try expected.wholeMatch(in: script) != nil, "\(script)")
    }

    @Test func variablesGetShortNames_andMembersKeepTheirs() throws {
        let script = try Self.script([
            "app.js": """
            function show({title, count: number = 1}, ...others) {
              const known = {title, number, title2: others, show() { return title; }};
              return `${known.title} ${{title}.title}: ${others.length}`;
            }
            """
        ])
        #expect(
            script == "function A({title:a,count:b=1},...c){let d={title:a,number:b,title2:c,show(){return a}};"
                + "return`${d.title} ${{title:a}.title}: ${c.length}`}")
    }

    @Test func classes_keepPublicMembers_andLosePrivateNames() throws {
        let script = try Self.script([
            "app.js": """
            export class Counter extends EventTarget {
              static total = 0;
              #count = 0;
              step = 1;

              get count() {
                return this.#count;
              }

              async add(step = this.step) {
                if (step > 0) { this.#count += step; }
              }
            }
            """
        ])
        #expect(
            script == "class A extends EventTarget{static total=0;#a=0;step=1;get count(){return this.#a}\n"
                + "async add(a=this.step){if(a>0){this.#a+=a}}}")
    }

    @Test func sameName_inTwoModules_isTwoNames() throws {
        let script = try Self.script([
            "app.js": "import {a} from './a.js';\nconst title = () => 1;\na(title);\n",
            "a.js": "const title = () => 2;\nexport const a = (title) => title;\nexport const b = () => title;\n",
        ])
        // The parameter has the name of its module's constant, which it hides.
        let titles = script.matches(of: /let ([A-Z])=\(\)=>[12]/).map { String($0.1) }
        #expect(Set(titles).count == 2, "\(script)")
    }

    @Test func texts_expressionsAndSigns_stayAsTheyAre() throws {
        let script = try Self.script([
            "app.js": """
            const a = 'x // y' + ' z' + "q";
            const b = /[/'"`]\\/\\d+/g.test(a) ? 1 / 2 / 3 : a + +1 - -1;
            const c = `${a ? `${b}// no comment` : '}'} b`;
            function* each(list) { yield* list; }
            let first = c
            let last = b
            const each2 = (each) => { while (each()); };
            """
        ])
        #expect(script.contains("{while(") && script.contains("());}"))
        #expect(script.contains("'x // y z'+\"q\""))
        #expect(script.contains(#"/[/'"`]\/\d+/g.test("#) && script.contains("1/2/3") && script.contains("+ +1- -1"))
        #expect(script.contains("// no comment`:'}'} b`") && script.contains("function*") && script.contains("yield*"))
        #expect(script.contains("\nlet "))
    }

    @Test func keysOfTexts_becomeShort_unlessATemplateMakesThem() throws {
        let script = try Self.script([
            "app.js": """
            const texts = {'a.one': 1, 'a.two': 2, 'a.kind.x': 3, 'a.xHint': 4, 'b.unused': 5, 'a.list': 'a.one'};
            const used = [texts['a.one'], texts['a.two'], texts['a.one'], texts['a.kind.x'], texts['a.xHint'],
              texts['a.list']];
            const made = (name) => [texts[`a.kind.${name}`], texts[`a.${name}Hint`]];
            """
        ])
        #expect(script.contains("{a:1,c:2,'a.kind.x':3,'a.xHint':4,'b.unused':5,b:'a'}"), "\(script)")
        #expect(script.contains("['a']") && script.contains("['a.xHint']") && script.contains("`a.kind.${"))
    }

    @Test func style_losesCommentsAndSpaces() throws {
        let packed = try ConsoleFile.packed([
            Self.file("style.css", "/* All. */\n@import './a.css';\n@import './b.css';\n"),
            Self.file("a.css", "/* A */\n.a > b,\n.c :is(i) {\n  margin: 0 calc(1px + 2px);\n  color: red;\n}\n"),
            Self.file(
                "b.css", ":root {\n  --space-1: 0;\n}\n@media (width < 3px) {\n  p { top: var(--space-1); }\n}\n"),
        ])
        let sheets = packed.map { String(decoding: $0.bytes, as: UTF8.self) }
        let expected = ".a > b,.c :is(i){margin:0 calc(1px + 2px);color:red}:root{--a:0}"
        #expect(sheets == [expected + "@media (width < 3px){p{top:var(--a)}}"])
    }

    @Test func unknownForm_isAFault() {
        for source in [
            "import all from './a.js';", "import {none} from './a.js';", "import './none.js';", "const a = 'b;",
            "const a = `b;", "/* b",
        ] {
            #expect(throws: PackingFault.self, "\(source)") {
                try Self.script(["app.js": source + "\n", "a.js": "export const a = 1;\n"])
            }
        }
    }

    @Test func files_ofThePage_arePacked() throws {
        #expect(try Set(ConsoleFile.packed().map(\.path)) == ["app.js", "icon.svg", "index.html", "style.css"])
    }

    private static func script(_ files: [String: String]) throws -> String {
        let packed = try ConsoleFile.packed(files.map { file($0.key, $0.value) })
        return String(decoding: packed.first { $0.path == "app.js" }?.bytes ?? [], as: UTF8.self)
    }

    private static func file(_ path: String, _ text: String) -> ConsoleFile {
        ConsoleFile(path: path, bytes: Array(text.utf8))
    }
}
