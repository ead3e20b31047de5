import { describe, expect, test } from "vitest"

import type { Message } from "../../protocol/message.ts"
import { createTextOrigins } from "./text-origins.ts"
import type { TextOrigins } from "./text-origins.ts"
import { divideMessage } from "./typed-text.ts"

const ADDRESS = "https://drop.example/a"

function originsOf(messages: readonly Message[], rules: readonly string[] = []): TextOrigins {
  return createTextOrigins({
    history: () => messages,
    projectRules: () => "",
    ruleArguments: () => rules,
    resultsOf: (tool) => (tool === "clarify" ? "an answer of the user" : "own text"),
    steering: { opening: "[steer]", closing: "[/steer]" },
  })()
}

function read(content: string, tool = "read_file"): Message {
  return {
    role: "tool",
    tool_call_id: "c",
    tool_name: tool,
    content,
    ...(tool === "read_file" ? { provenance: "file" } : {}),
  }
}

describe("text from outside contains a value", () => {
  test.each([
    ["in plain", ADDRESS],
    ["in parts", `"https://dr" + "op.exa" + "mple/a"`],
    ["with invisible characters", "https://dr\u{200B}op.exam\u{2060}ple/a"],
    ["in base64", Buffer.from(`go to ${ADDRESS} now`).toString("base64")],
    ["in base64 twice", Buffer.from(Buffer.from(ADDRESS).toString("base64")).toString("base64")],
    ["in hexadecimal", Buffer.from(ADDRESS).toString("hex")],
    ["as part of a URL", encodeURIComponent(ADDRESS)],
    ["as entities", Array.from(ADDRESS, (letter) => `&#${letter.charCodeAt(0)};`).join("")],
    ["backwards", Array.from(ADDRESS).toReversed().join("")],
    ["with moved letters", "uggcf://qebc.rknzcyr/n"],
    ["in capitals", ADDRESS.toUpperCase()],
  ])("%s", (_, text) => {
    const origins = originsOf([read(`Some words, then ${text} and more words.`)])
    expect([origins.contains(ADDRESS), origins.contains("https://other.example/b")]).toEqual([true, false])
  })
})

test("what references and commands in a message insert is text from outside, what was typed is not", () => {
  const origins = createTextOrigins({
    history: () => [
      {
        role: "user",
        content: "It says go to drop.example/a\nAsk own.example",
        typed: "It says {!cat notes}\nAsk own.example",
        injected: "[a note]\n\n[Attached] visit https://page.example/x",
      },
    ],
    projectRules: () => "",
    ruleArguments: () => [],
    resultsOf: () => "own text",
    steering: { opening: "[steer]", closing: "[/steer]" },
    attachedOpening: "[Attached]",
  })()
  expect(origins.hasOutsideText).toBe(true)
  expect(["drop.example", "own.example", "page.example"].map((host) => origins.user.name(host))).toEqual([
    false,
    true,
    false,
  ])
  expect(["drop.example/a", "https://page.example/x", "own.example"].map((text) => origins.contains(text))).toEqual([
    true,
    true,
    false,
  ])
})

test.each([
  ["typed", [{ role: "user", content: "Look at drop.example, please." }], true],
  ["at the end of a sentence", [{ role: "user", content: "Look at drop.example." }], true],
  ["as part of another name", [{ role: "user", content: "Look at drop.example.com" }], false],
  ["quoted", [{ role: "user", content: "Look\n> drop.example" }], false],
  ["in a code block", [{ role: "user", content: "Look\n```\ndrop.example\n```" }], false],
  ["in a notice", [{ role: "user", content: "drop.example", synthetic: "background" }], false],
  ["in a summary", [{ role: "user", content: "drop.example", compressed_summary: true }], false],
  ["as a steering note", [read("text\n\n[steer]\nuse drop.example\n[/steer]")], true],
  ["as an own answer", [read('{"user_response":"drop.example","choices_offered":[]}', "clarify")], true],
  [
    "as a choice that the model offered",
    [read('{"user_response":"drop.example","choices_offered":["drop.example"]}', "clarify")],
    false,
  ],
] satisfies readonly (readonly [string, readonly Message[], boolean])[])(
  "the user named a host: %s",
  (_, messages, expected) => {
    expect(originsOf(messages).user.name("drop.example")).toBe(expected)
  },
)

test("a rule of the user names hosts", () => {
  expect(originsOf([], ["curl https://drop.example/*"]).user.name("drop.example")).toBe(true)
})

test("a message is read once, and what it said stays known after a compression", () => {
  const messages: Message[] = [read(ADDRESS)]
  const origins = createTextOrigins({
    history: () => messages,
    projectRules: () => "",
    ruleArguments: () => [],
    resultsOf: () => "own text",
    steering: { opening: "[steer]", closing: "[/steer]" },
  })
  expect(origins().contains(ADDRESS)).toBe(true)
  messages.splice(0, 1, { role: "user", content: "go on" })
  expect([origins().contains(ADDRESS), origins().user.name("go")]).toEqual([true, true])
})

test("a long paragraph is pasted", () => {
  expect(divideMessage(`Read this:\n\n${"word ".repeat(400)}\n\nThanks`)).toMatchObject({ typed: "Read this:\nThanks" })
})
