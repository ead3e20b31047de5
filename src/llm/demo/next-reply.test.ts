import { describe, expect, test } from "vitest"

import type { Message } from "../../protocol/message.ts"
import { nextReply } from "./next-reply.ts"
import { readDemoConversation } from "./conversation.ts"
import { HOW_TO_CONNECT, GREETING, HELP, DISCLAIMER, NOT_UNDERSTOOD } from "./introduction.ts"

const TOOLS = ["terminal", "read_file", "write_file", "search_files", "memory"]
const NOTE = "hermes-demo-note.txt"

describe("tool calls", () => {
  const list = { pattern: "*", target: "files", path: "." }
  test.each([
    ["list files", "search_files", list],
    ["Please list the files in this folder.", "search_files", list],
    ["what files are here?", "search_files", list],
    ["ls", "search_files", list],
    ["list files in .", "search_files", list],
    ["list the files in src/llm", "search_files", { ...list, path: "src/llm" }],
    ["zeige mir alle Dateien", "search_files", list],
    ["lista los archivos", "search_files", list],
    ["find files named *.md", "search_files", { pattern: "*.md", target: "files", path: "." }],
    ["search this folder for TODO", "search_files", { pattern: "TODO", target: "content", path: "." }],
    ["search for foo(bar) in src", "search_files", { pattern: String.raw`foo\(bar\)`, target: "content", path: "src" }],
    ["look for cats in this folder", "search_files", { pattern: "cats", target: "content", path: "." }],
    ["suche nach Katze", "search_files", { pattern: "Katze", target: "content", path: "." }],
    ["read README.md", "read_file", { path: "README.md" }],
    ["Hermes, could you show me the file notes?", "read_file", { path: "notes" }],
    ["what's in 'my file.txt'", "read_file", { path: "my file.txt" }],
    ["lies die Datei a.txt vor", "read_file", { path: "a.txt" }],
    ["write a note saying buy milk", "write_file", { path: NOTE, content: "buy milk\n" }],
    ["write a note: buy milk", "write_file", { path: NOTE, content: "buy milk\n" }],
    ["write a note", "write_file", { path: NOTE, content: "This note was written by the Hermes demo.\n" }],
    ["create a file called x/y.txt with the text hello", "write_file", { path: "x/y.txt", content: "hello\n" }],
    ['write "a, then b" to z.md', "write_file", { path: "z.md", content: "a, then b\n" }],
    ["write a note saying tea and then some", "write_file", { path: NOTE, content: "tea and then some\n" }],
    ["escribe una nota que diga hola", "write_file", { path: NOTE, content: "hola\n" }],
    ["run date", "terminal", { command: "date" }],
    ["run `npm test && echo ok`", "terminal", { command: "npm test && echo ok" }],
    ["what time is it?", "terminal", { command: "date" }],
    ["delete a.txt", "terminal", { command: "rm -r -- a.txt" }],
    ["remove the folder build", "terminal", { command: "rm -r -- build" }],
    ['delete "it\'s here.txt"', "terminal", { command: String.raw`rm -r -- 'it'\''s here.txt'` }],
    ["lösche die Datei a.txt", "terminal", { command: "rm -r -- a.txt" }],
    ["remember that I like tea", "memory", { action: "add", target: "memory", content: "I like tea" }],
    ["merke dir, dass ich Tee mag", "memory", { action: "add", target: "memory", content: "ich Tee mag" }],
    ["what do you remember?", "memory", { action: "read", target: "memory" }],
  ])("%s", (message, tool, args) => {
    expect(replyTo([user(message)]).call).toEqual({ tool, args })
  })

  test("optional tools are used when they are available", () => {
    expect(replyTo([user("make a todo list for tea, milk and bread")], ["todo"]).call).toEqual({
      tool: "todo",
      args: {
        todos: [
          { id: "1", content: "tea", status: "pending" },
          { id: "2", content: "milk", status: "pending" },
          { id: "3", content: "bread", status: "pending" },
        ],
      },
    })
    expect(replyTo([user("ask me something")], ["clarify"]).call?.tool).toBe("clarify")
    expect(replyTo([user("replace a with b in c.txt")], ["patch"]).call).toEqual({
      tool: "patch",
      args: { mode: "replace", path: "c.txt", old_string: "a", new_string: "b" },
    })
  })

  test("without search_files a command lists the files", () => {
    expect(replyTo([user("list files")], ["terminal"]).call).toEqual({
      tool: "terminal",
      args: { command: "ls -- ." },
    })
  })

  test('"it" refers to the file of the previous turn', () => {
    const history = [
      user("read a/b.txt"),
      ...called("read_file", { path: "a/b.txt" }, { content: "1|x", total_lines: 1 }),
    ]
    const message = [...history, assistant("a/b.txt has 1 line."), user("delete it")]
    expect(replyTo(message).call).toEqual({ tool: "terminal", args: { command: "rm -r -- a/b.txt" } })
  })
})

describe("replies without a tool", () => {
  test.each([
    ["hello", GREETING],
    ["Guten Tag!", GREETING],
    ["¡Hola!", GREETING],
    ["What can you do?", HELP],
    ["/help", HELP],
    ["how do I connect a real model?", HOW_TO_CONNECT],
    ["thanks a lot", "You are welcome."],
    ["why is the sky blue?", NOT_UNDERSTOOD],
    ["search the web for cats", NOT_UNDERSTOOD],
    ["delete everything", NOT_UNDERSTOOD],
    ["", NOT_UNDERSTOOD],
    [`write a note saying ${"x".repeat(5000)}`, NOT_UNDERSTOOD],
    ["run the tests", "Put the command in backticks, so that I know where it begins and ends: run `the tests`"],
    ["run date; rm x", "Put the command in backticks, so that I know where it begins and ends: run `date; rm x`"],
    ["edit a.txt", 'Tell me what to change, for example: replace "old words" with "new words" in a.txt'],
    ["delete /etc/hosts", "The demo deletes only files below the working directory, not /etc/hosts."],
    ["delete the folder ..", "The demo deletes only files below the working directory, not ..."],
    ["delete the file a/../../b", "The demo deletes only files below the working directory, not a/../../b."],
    ["make a todo list", "For making a to-do list I need the tool `todo`, which this session does not offer."],
  ])("%s", (message, text) => {
    expect(replyTo([user("hello"), assistant("Hello."), user(message)])).toMatchObject({ say: text })
    expect(replyTo([user("hello"), assistant("Hello."), user(message)]).call).toBeUndefined()
  })

  test("the first reply of a session has the disclaimer, even after tool calls; later replies do not", () => {
    const ran = [
      user("run date"),
      ...called("terminal", { command: "date" }, { output: "now\n", exit_code: 0, error: null }),
    ]
    expect(replyTo([user("hello")]).say).toBe(`${DISCLAIMER}\n\n${GREETING}`)
    expect(replyTo(ran).say).toBe(
      `${DISCLAIMER}\n\n\`date\` ended with exit code 0 and printed:\n\n\`\`\`\nnow\n\`\`\``,
    )
    expect(replyTo([...ran, assistant("done"), user("hello")]).say).toBe(GREETING)
  })
})

describe("plans of several steps", () => {
  test("write a note, then read it back", () => {
    const steps = play("write a note saying buy milk, then read it back", {
      write_file: () => ({ bytes_written: 9, resolved_path: `/w/${NOTE}` }),
      read_file: () => ({ content: "1|buy milk", total_lines: 1 }),
    })
    expect(steps.calls).toEqual([
      ["write_file", { path: NOTE, content: "buy milk\n" }],
      ["read_file", { path: NOTE }],
    ])
    expect(steps.final).toBe(
      `${DISCLAIMER}\n\nI wrote 9 bytes to /w/${NOTE}.\n\n${NOTE} has 1 line:\n\n\`\`\`\nbuy milk\n\`\`\``,
    )
  })

  test("a failed step ends the plan, and the reply lists the remaining steps", () => {
    const steps = play("write a note and delete it", { write_file: () => ({ error: "the disk is full" }) })
    expect(steps.calls).toHaveLength(1)
    expect(steps.final).toBe(
      `${DISCLAIMER}\n\nwrite_file (${NOTE}) failed: the disk is full\n\nNot done: deleting ${NOTE}.`,
    )
  })

  test("an edit without the patch tool reads and rewrites the whole file", () => {
    const steps = play("replace milk with $& bread in list.txt", {
      read_file: () => ({ content: "1|a\n2|\n3|milk and milk", total_lines: 3 }),
      write_file: () => ({ bytes_written: 25, resolved_path: "/w/list.txt" }),
    })
    expect(steps.calls).toEqual([
      ["read_file", { path: "list.txt" }],
      ["write_file", { path: "list.txt", content: "a\n\n$& bread and milk\n" }],
    ])
  })

  test("a line is appended", () => {
    const steps = play("append tea to list.txt", {
      read_file: () => ({ content: "1|milk\n", total_lines: 1 }),
      write_file: () => ({ bytes_written: 9 }),
    })
    expect(steps.calls[1]).toEqual(["write_file", { path: "list.txt", content: "milk\ntea\n" }])
  })

  test.each([
    [{ content: "1|a", total_lines: 900 }, "list.txt is too long for the demo to change: I saw 1 of 900 lines."],
    [
      { content: "1|key=sk-abcd...wxyz", total_lines: 1 },
      "Parts of list.txt were masked or truncated, so I changed nothing.",
    ],
    [{ content: "1|key=***", total_lines: 1 }, "Parts of list.txt were masked or truncated, so I changed nothing."],
    [
      { content: "1|aaa... [truncated]", total_lines: 1 },
      "Parts of list.txt were masked or truncated, so I changed nothing.",
    ],
    [{ content: "1|tea", total_lines: 1 }, '"milk" does not occur in list.txt, so I changed nothing.'],
    [{ unchanged: true }, "I could not read list.txt, so I changed nothing."],
  ])("after reading %j the file is not written", (result, why) => {
    const steps = play("replace milk with bread in list.txt", { read_file: () => result })
    expect(steps.calls).toHaveLength(1)
    expect(steps.final.endsWith(why)).toBe(true)
  })

  test("the tour shows every tool, continues after a denial and ends with how to connect a model", () => {
    const steps = play("show me what you can do", {
      search_files: () => ({ total_count: 1, files: ["a.txt"] }),
      write_file: () => ({ bytes_written: 42, resolved_path: `/w/${NOTE}` }),
      memory: () => ({ success: true }),
      terminal: () => ({ output: "", exit_code: -1, error: "the user denied it", status: "blocked" }),
    })
    expect(steps.calls.map(([tool]) => tool)).toEqual([
      "search_files",
      "write_file",
      "write_file",
      "memory",
      "terminal",
    ])
    expect(steps.calls[4]?.[1]).toEqual({ command: `rm -r -- ${NOTE}` })
    expect(steps.final).toBe(
      [
        DISCLAIMER,
        "I found 1 file:",
        "- a.txt",
        `I wrote 42 bytes to /w/${NOTE}.`,
        `I wrote 42 bytes to /w/${NOTE}.`,
        'I added "The user has taken the tour of the Hermes demo." to memory; a new session will see it.',
        `terminal (rm -r -- ${NOTE}) was not allowed, so nothing was done: the user denied it`,
        `That was the tour. ${HOW_TO_CONNECT}`,
      ].join("\n\n"),
    )
  })

  test("the tour skips unavailable tools and reports them", () => {
    const steps = play("tour", { search_files: () => ({ total_count: 0, files: [] }) }, ["search_files"])
    expect(steps.calls).toHaveLength(1)
    expect(steps.final).toContain("For saving to memory I need the tool `memory`, which this session does not offer.")
  })
})

function replyTo(messages: readonly Message[], tools: readonly string[] = TOOLS) {
  const definitions = tools.map((name) => ({ name, description: "", parameters: {} }))
  return nextReply(readDemoConversation({ model: "hermes-demo", system: "", messages, tools: definitions }))
}

/** Runs a request to its end with fake tools. */
function play(
  message: string,
  tools: Readonly<Record<string, () => unknown>>,
  offered: readonly string[] = TOOLS,
): { calls: [string, unknown][]; final: string } {
  const messages: Message[] = [user(message)]
  const calls: [string, unknown][] = []
  for (let step = 0; step < 10; step += 1) {
    const { say, call } = replyTo(messages, offered)
    if (call === undefined) return { calls, final: say }
    calls.push([call.tool, call.args])
    messages.push(...called(call.tool, call.args, tools[call.tool]?.(), `demo_${step}`))
  }
  throw new Error("the plan does not end")
}

function called(tool: string, args: unknown, result: unknown, id = "demo_1"): Message[] {
  return [
    {
      role: "assistant",
      content: "I will.",
      tool_calls: [{ id, type: "function", function: { name: tool, arguments: JSON.stringify(args) } }],
    },
    { role: "tool", tool_call_id: id, tool_name: tool, content: JSON.stringify(result) },
  ]
}

function user(content: string): Message {
  return { role: "user", content }
}

function assistant(content: string): Message {
  return { role: "assistant", content }
}
