import { expect, test } from "vitest"
import { parsePatch } from "./parse-patch.ts"

const context = (text: string) => ({ kind: "context", text })
const removed = (text: string) => ({ kind: "removed", text })
const added = (text: string) => ({ kind: "added", text })
const hunk = (hints: readonly string[], ...lines: readonly unknown[]) => ({
  hints,
  lines,
  isNumbered: false,
  atEndOfFile: false,
})

test.each([
  [
    "an update with a hint",
    "*** Begin Patch\n*** Update File: a.py\n@@ def f @@\n ctx\n-old\n+new\n*** End Patch",
    [
      {
        kind: "update",
        path: "a.py",
        hunks: [hunk(["def f"], context("ctx"), removed("old"), added("new"))],
      },
    ],
  ],
  ["a new file", "*** Add File: n.txt\n+l1\n+l2\n", [{ kind: "add", path: "n.txt", lines: ["l1", "l2"] }]],
  ["a deletion", "*** Delete File: d.txt", [{ kind: "delete", path: "d.txt" }]],
  ["a move", "*** Move File: a -> b", [{ kind: "move", path: "a", to: "b" }]],
  [
    "unprefixed, empty and ignored lines",
    "*** Update File: a\n@@\nplain\n\n-x\n\\ No newline at end of file\n+y\n*** End of File\n\n\n*** Delete File: b\n",
    [
      {
        kind: "update",
        path: "a",
        hunks: [{ ...hunk([], context("plain"), context(""), removed("x"), added("y")), atEndOfFile: true }],
      },
      { kind: "delete", path: "b" },
    ],
  ],
  [
    "hunks one after another, with line numbers instead of a hint",
    "*** Update File: a\n-1\n@@ -3,7 +3,8 @@\n-2\n@@ -9 +9 @@ class C\n-3\n@@ only open\n-4",
    [
      {
        kind: "update",
        path: "a",
        hunks: [
          hunk([], removed("1")),
          { ...hunk([], removed("2")), isNumbered: true },
          { ...hunk(["class C"], removed("3")), isNumbered: true },
          hunk(["only open"], removed("4")),
        ],
      },
    ],
  ],
  [
    "talk around the patch, CRLF, a forgotten plus sign",
    "Here it is:\r\n*** Begin Patch\r\n*** Add File: a\r\n+x\r\ny\r\n*** End Patch\r\n*** Delete File: b",
    [{ kind: "add", path: "a", lines: ["x", "y"] }],
  ],
  [
    "a move below an update, with padded markers",
    " *** Begin Patch \n  *** Update File: a  \n\t*** Move to: b\n@@ class A\n@@ def f\n-x\n  *** End Patch",
    [{ kind: "update", path: "a", to: "b", hunks: [hunk(["class A", "def f"], removed("x"))] }],
  ],
  ["a move without hunks", "*** Update File: a\n*** Move to: b", [{ kind: "move", path: "a", to: "b" }]],
  [
    "an indented marker in a hunk is a line of the file",
    "*** Update File: a\n *** Delete File: b\n-x\n+y\n *** Update File: c\n*** End Patch",
    [
      {
        kind: "update",
        path: "a",
        hunks: [hunk([], context("*** Delete File: b"), removed("x"), added("y"), context("*** Update File: c"))],
      },
    ],
  ],
  [
    "two patches in a row",
    "*** Begin Patch\n*** Delete File: a\n*** End Patch\ntalk\n*** Delete File: no\n*** Begin Patch\n*** Delete File: b\n*** End Patch",
    [
      { kind: "delete", path: "a" },
      { kind: "delete", path: "b" },
    ],
  ],
  [
    "a directory in front of the command",
    "cd 'a b/' && apply_patch <<'EOF'\n*** Delete File: x\n*** Delete File: /y\nEOF\n*** Delete File: no",
    [
      { kind: "delete", path: "a b/x" },
      { kind: "delete", path: "/y" },
    ],
  ],
  ["an empty new file", "*** Add File: a", [{ kind: "add", path: "a", lines: [] }]],
])("%s", (_what, text, operations) => {
  expect(parsePatch(text)).toEqual({ ok: true, value: operations })
})

test.each([
  ["*** Update File: x\n", "UPDATE 'x': no hunks found"],
  ["*** Update File: x\n@@ f @@\n\n", "UPDATE 'x': no hunks found"],
  ["nothing here", expect.stringMatching(/^no operations/)],
  ["*** Begin Patch\n*** End Patch", expect.stringMatching(/^no operations/)],
  ["*** Move File: a b", expect.stringMatching(/^MOVE 'a b'/)],
  ["*** Rename File: a -> b", expect.stringMatching(/not an operation/)],
  ["*** Move to: b\n*** Update File: a\n-x", expect.stringMatching(/not an operation/)],
  ["*** Add File: a\n*** Move to: b", expect.stringMatching(/not an operation/)],
  ["*** Update File: a\n*** Move to: b\n*** Move to: c\n-x", "UPDATE 'a': two *** Move to lines"],
  ["*** Update File:  \n-x", expect.stringMatching(/the path is missing/)],
])("%j is refused", (text, error) => {
  expect(parsePatch(text)).toEqual({ ok: false, error })
})
