import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { createTestHomeContext, type TestHomeContext } from "../../../test/support/home-context.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { exportTranscript, formatOfFile, saveTranscript } from "./export-transcript.ts"

const ID = "20260101_100000_aaaaaa"
const SECRET = "a-very-secret-value-123"
const DIFF = "--- a/x.ts\n+++ b/x.ts\n@@ -1 +1 @@\n-old <b>\n+new\n"

const call = (id: string, name: string, args: object) => ({
  id,
  type: "function" as const,
  function: { name, arguments: JSON.stringify(args) },
})

const MESSAGES: readonly Message[] = [
  { role: "system", content: "the system prompt" },
  { role: "user", content: `Fix <script>alert(1)</script> with ${SECRET}\n\u{1B}[31mred` },
  {
    role: "assistant",
    content: "I **look**.",
    tool_calls: [call("a", "terminal", { command: "npm test </summary>" }), call("b", "patch", { path: "x.ts" })],
  },
  {
    role: "tool",
    content: JSON.stringify({ output: `failed\n\`\`\`\n${SECRET}`, exit_code: 1 }),
    tool_call_id: "a",
    tool_name: "terminal",
  },
  { role: "tool", content: JSON.stringify({ success: true, diff: DIFF }), tool_call_id: "b", tool_name: "patch" },
  { role: "user", content: "a process ended", synthetic: "background" },
  {
    role: "assistant",
    content:
      'Done <img src=x onerror="alert(1)">.\n\n[click](javascript:alert(1)) [ok](https://e.com/?a="b) ![i](http://t.com/x.png)\n\n- one\n\n```js\na < b\n```\n\n```diff\n-a\n+b\n```',
  },
]

async function seeded(): Promise<TestHomeContext> {
  const context = createTestHomeContext({}, { EXAMPLE_API_KEY: SECRET })
  const store = await openSqliteStore({ path: context.home.file("state.db"), clock: context.clock, log: context.log })
  const id = toSessionId(ID)
  await store.createSession({ id, source: "cli", startedAt: 1_767_261_600, model: "m", cwd: "/project" })
  await store.append(
    id,
    MESSAGES.map((message) => ({ ...message, timestamp: 1_767_261_600 })),
  )
  await store.setTitle(id, "Title <i>&")
  await store.close()
  return context
}

describe("Markdown", () => {
  test("has the messages, folded calls, and fences that their text cannot end", async () => {
    using context = await seeded()
    const text = (await exportTranscript(context, ID, "markdown")) ?? ""
    expect(text.slice(text.indexOf("---\n\n##"))).toMatchSnapshot()
    expect(text).toMatch(/^# Title &lt;i>&\n\n- \*\*Session:\*\* 20260101_100000_aaaaaa\n/u)
    expect(text).not.toContain(SECRET)
    expect(text).not.toContain("the system prompt")
  })
})

describe("HTML", () => {
  test("is one file without scripts, foreign elements, remote content and secrets", async () => {
    using context = await seeded()
    const html = (await exportTranscript(context, ID, "html")) ?? ""
    expect(html).not.toMatch(/<script|<img|<iframe|javascript:alert\(1\)"|<i>/iu)
    expect(html).not.toContain("\u{1B}")
    expect(html).not.toContain(SECRET)
    expect(html).not.toContain("the system prompt")
    expect(html.match(/<a href="[^"]*"/gu)).toEqual(['<a href="https://e.com/?a=&quot;b"'])
    expect(html).toContain("default-src 'none'")
    expect(html).toContain("prefers-color-scheme: dark")
    expect(html.match(/<details class="call"( open)?>/gu)).toEqual([
      '<details class="call">',
      '<details class="call" open>',
    ])
    expect(html).toContain("npm test &lt;/summary&gt;")
    expect(html).toContain('<span class="del">-old &lt;b&gt;</span>')
    expect(html).toContain('<em class="failed">failed</em>')
  })

  test("hostile messages take no quadratic time and are shown as text", async () => {
    using context = await seeded()
    const store = await openSqliteStore({ path: context.home.file("state.db"), clock: context.clock, log: context.log })
    const content = [">".repeat(100_000), "[".repeat(100_000), "- ".repeat(50_000)]
    await store.append(
      toSessionId(ID),
      content.map((text) => ({ role: "assistant" as const, content: text, timestamp: 1_767_261_601 })),
    )
    await store.close()
    const html = (await exportTranscript(context, ID, "html")) ?? ""
    expect(html.match(/<pre class="plain">/gu)).toHaveLength(3)
  })
})

test("a file is saved in the format of its name", async () => {
  using context = await seeded()
  const save = async (name: string): Promise<string> => {
    const path = join(context.directory, name)
    const saved = await saveTranscript(context, { session: ID, path })
    expect(saved.ok).toBe(true)
    return readFileSync(path, "utf8").slice(0, 15)
  }
  expect([await save("a.html"), await save("a.md"), await save("a.txt"), await save("a.jsonl")]).toEqual([
    "<!doctype html>",
    "# Title &lt;i>&",
    "# Title &lt;i>&",
    '{"id":"20260101',
  ])
  expect(await saveTranscript(context, { session: "nothing", path: join(context.directory, "b.md") })).toMatchObject({
    error: { kind: "no-session" },
  })
  expect(await saveTranscript(context, { session: ID, path: context.directory })).toMatchObject({
    error: { kind: "is-directory" },
  })
})

test.each([
  ["a.md", "markdown"],
  ["a.Markdown", "markdown"],
  ["x/a.htm", "html"],
  ["a.jsonl", "jsonl"],
  ["a", undefined],
  ["-", undefined],
])("the name %s asks for %s", (path, format) => {
  expect(formatOfFile(path)).toBe(format)
})
