import { describe, expect, test } from "vitest"

import { parseReferences } from "./parse-references.ts"
import { inlineCommands, shellLineCommand } from "./shell-input.ts"

describe("references", () => {
  test.each([
    ["see @file:src/a.ts", [{ kind: "file", path: "src/a.ts", token: "@file:src/a.ts" }], "see"],
    [
      "@file:src/a.ts:10-20, thanks",
      [{ kind: "file", path: "src/a.ts", lines: { first: 10, last: 20 }, token: "@file:src/a.ts:10-20" }],
      "thanks",
    ],
    [
      '@file:"my dir/x.py":3 ok',
      [{ kind: "file", path: "my dir/x.py", lines: { first: 3, last: 3 }, token: '@file:"my dir/x.py":3' }],
      "ok",
    ],
    ["(@file:a.ts)", [{ kind: "file", path: "a.ts", token: "@file:a.ts" }], ""],
    ["read (@file:a.ts) now", [{ kind: "file", path: "a.ts", token: "@file:a.ts" }], "read now"],
    ["@git:99", [{ kind: "git", commits: 10, token: "@git:99" }], ""],
    ["@git:0", [{ kind: "git", commits: 1, token: "@git:0" }], ""],
    ["@url:https://x.io/a?b=1.", [{ kind: "url", url: "https://x.io/a?b=1", token: "@url:https://x.io/a?b=1" }], ""],
    ["@url:https://x.io/a_(b)", [{ kind: "url", url: "https://x.io/a_(b)", token: "@url:https://x.io/a_(b)" }], ""],
    [
      "fix @diff, then @staged!",
      [
        { kind: "diff", token: "@diff" },
        { kind: "staged", token: "@staged" },
      ],
      "fix, then!",
    ],
    [
      "in @folder:'a b/c' and @folder:src/",
      [
        { kind: "folder", path: "a b/c", token: "@folder:'a b/c'" },
        { kind: "folder", path: "src/", token: "@folder:src/" },
      ],
      "in and",
    ],
    [
      "as in @session:20260102_030405_abcdef and @skill:review",
      [
        { kind: "session", name: "20260102_030405_abcdef", token: "@session:20260102_030405_abcdef" },
        { kind: "skill", name: "review", token: "@skill:review" },
      ],
      "as in and",
    ],
    ["@file:a.ts @file:a.ts", [{ kind: "file", path: "a.ts", token: "@file:a.ts" }], ""],
    [
      "@file:a.ts:20-10",
      [{ kind: "file", path: "a.ts", lines: { first: 10, last: 20 }, token: "@file:a.ts:20-10" }],
      "",
    ],
    ["one\n@file:a.ts\ntwo", [{ kind: "file", path: "a.ts", token: "@file:a.ts" }], "one\n\ntwo"],
  ])("%s", (text, references, rest) => {
    expect(parseReferences(text)).toEqual({ references, rest })
  })

  test.each([
    "mail me@file:x",
    "path/@file:x",
    "@difference",
    "@file:",
    "@git:main",
    "@someone hello",
    'say "@file:" twice',
    "@file: x",
  ])("none in %s", (text) => {
    expect(parseReferences(text)).toEqual({ references: [], rest: text })
  })

  test("long and repeated text is parsed in time that grows with its length", () => {
    const text = `${'@file:"'.repeat(20_000)} ${"@file:(((".repeat(5000)} ${")".repeat(20_000)}`
    expect(parseReferences(text).references.length).toBeGreaterThan(0)
  })
})

describe("commands", () => {
  test.each([
    ["!ls -la", "ls -la"],
    ["  ! git status\n", "git status"],
    ["!for i in 1 2; do\necho $i\ndone", "for i in 1 2; do\necho $i\ndone"],
    ["!", undefined],
    ["!!", undefined],
    ["hello!", undefined],
  ])("%j", (text, command) => {
    expect(shellLineCommand(text)).toBe(command)
  })

  test("code that is quoted has none", () => {
    const code = "{!isOpen && <div/>}"
    const text = `see \`${code}\`\n\`\`\`jsx\n${code}\n\`\`\`\n> ${code}\n{!date\n} {!pwd}\n~~~\n${code}`
    expect(inlineCommands(text).map(({ command }) => command)).toEqual(["pwd"])
  })

  test("inside a message", () => {
    const text = "today is {!date}, and {!awk '{print $1}' f} but not {!} or {!open"
    expect(inlineCommands(text).map(({ start, end, command }) => [text.slice(start, end), command])).toEqual([
      ["{!date}", "date"],
      ["{!awk '{print $1}' f}", "awk '{print $1}' f"],
    ])
  })
})
