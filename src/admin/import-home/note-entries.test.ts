import { expect, test } from "vitest"

import { createNearDuplicates, splitNotes } from "./note-entries.ts"

test("a Markdown file is split into entries with their heading and line", () => {
  const text = `---
title: x
---
# Rules

<!-- a hint
of two lines -->
A paragraph
of two lines.

## Code
- Use tabs
  and no spaces.
- Format:
\`\`\`sh
# no heading
npm run format
\`\`\`
1. First
---
- **Name:**
- _(what to call them)_
- Notes: _nothing yet_
`
  expect(splitNotes(text)).toEqual([
    { text: "A paragraph\nof two lines.", line: 8 },
    { text: "Code: Use tabs\n  and no spaces.", line: 12 },
    { text: "Code: Format:\n```sh\n# no heading\nnpm run format\n```", line: 14 },
    { text: "Code: First", line: 19 },
  ])
})

test("near-duplicates are recognised, different facts are not", () => {
  const known = createNearDuplicates(["Always run the tests before a commit.", "The router is at 192.168.1.1."])
  expect(known.has("always run the tests before a commit")).toBe(true)
  expect(known.has("- Run the tests before a commit!")).toBe(true)
  expect(known.has("The router is at 192.168.1.2.")).toBe(false)
  expect(known.has("Run the tests after a commit")).toBe(false)
  expect(createNearDuplicates(["Do not commit to main on Fridays."]).has("Do commit to main on Fridays")).toBe(false)
  expect(known.has("Never run the linter before lunch.")).toBe(false)
  known.add("Never run the linter before lunch.")
  expect(known.has("Never run the linter before lunch.")).toBe(true)
})

test("unfinished comments and front matter take no longer than their length", () => {
  expect(splitNotes("<!--".repeat(250_000))).toHaveLength(1)
  expect(splitNotes(`---\n${"x\n\n".repeat(100_000)}`)).toHaveLength(100_000)
})
