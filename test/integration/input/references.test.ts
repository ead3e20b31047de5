import { execFileSync } from "node:child_process"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import type { Session } from "../../../src/app/session/session.ts"
import type { AgentEvent, RunEnd } from "../../../src/protocol/events.ts"
import { says } from "../../support/model-server/turn.ts"
import { assembleApp } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

const SIGNAL = new AbortController().signal

async function send(
  session: Session,
  text: string,
  on: (event: AgentEvent) => void = () => undefined,
): Promise<{ readonly end: RunEnd; readonly warnings: readonly string[]; readonly tools: readonly string[] }> {
  const events: AgentEvent[] = []
  for await (const event of session.run(text, { signal: SIGNAL, typed: true })) {
    events.push(event)
    on(event)
  }
  const end = events.at(-1)
  if (end?.type !== "run-end") throw new Error("no run-end")
  return {
    end,
    warnings: events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : [])),
    tools: events.flatMap((event) => (event.type === "tool-start" ? [event.preview] : [])),
  }
}

/** The last user message as the model got it. */
function sentText({ model }: AssembledApp): string {
  const { messages } = model.view(model.requests.length - 1)
  return messages.findLast(({ role }) => role === "user")?.text ?? ""
}

describe("references in a message", () => {
  test("files and folders are attached, the transcript keeps what was typed", async () => {
    await using app = await assembleApp([says("ok"), says("again")], {
      workFiles: {
        "src/a.ts": "one\ntwo\nthree\n",
        "my dir/x.py": "print(1)\n",
        "docs/b.md": "Text with ``` fence",
        "ignored.log": "x",
        ".gitignore": "*.log\n",
        "blob.bin": "a\0b",
      },
    })
    execFileSync("git", ["init", "-q"], { cwd: app.home.workdir })
    const session = await app.open()
    const typed = `compare @file:src/a.ts:2-3 with @file:"my dir/x.py", @file:docs/b.md and @file:blob.bin in @folder:.`
    const { end, warnings, tools } = await send(session, typed)
    expect([end.outcome, warnings]).toEqual(["completed", []])
    expect(tools.length).toBe(5)
    const text = sentText(app)
    expect(text.split("\n")[0]).toBe("compare with, and in")
    expect(text).toContain("## @file:src/a.ts:2-3 (about 5 tokens)\n\n```ts\ntwo\nthree\n```")
    expect(text).toContain("```py\nprint(1)\n```")
    expect(text).toContain("````md\nText with ``` fence\n````")
    expect(text).toContain("[blob.bin is a binary file (program, 3 B); its content is not attached.]")
    expect(text).toMatch(/docs\/b\.md\nmy dir\/x\.py\nsrc\/a\.ts/u)
    expect(text).not.toContain("ignored.log")
    const stored = await (await app.app.store()).conversation(session.id)
    expect(stored.find(({ role }) => role === "user")?.content).toBe(typed)
    // A resumed conversation sends the same bytes.
    const before = text
    await session.close("test")
    const resumed = await app.open({ resume: session.id })
    await send(resumed, "next")
    const { messages } = app.model.view(app.model.requests.length - 1)
    expect(messages.find(({ role }) => role === "user")?.text).toBe(before)
    expect(await resumed.undo()).toMatchObject({ kind: "removed", text: "next" })
    expect(await resumed.undo()).toMatchObject({ kind: "removed", text: typed })
  })

  test("what must not be attached becomes a warning, and the message is sent", async () => {
    await using app = await assembleApp([says("ok")], {
      files: { ".env": "OPENAI_API_KEY=sk-secret-value-000000000000" },
      workFiles: { ".env": "TOKEN=abc", "a.ts": "x" },
    })
    const { workdir } = app.home
    symlinkSync("/etc/passwd", join(workdir, "link"))
    mkdirSync(join(workdir, "sub"))
    symlinkSync("/etc", join(workdir, "sub/etc"))
    const session = await app.open()
    const refused = ["link", "sub/etc/hostname", "../../x", "/etc/hostname", "~/.ssh/id_rsa", ".env", "missing.ts"]
    const { end, warnings } = await send(session, `look at ${refused.map((path) => `@file:${path}`).join(" ")}`)
    expect(end.outcome).toBe("completed")
    expect(warnings.length).toBe(refused.length)
    expect(warnings.filter((text) => text.includes("outside the working directory")).length).toBe(5)
    expect(warnings.at(-1)).toMatch(/^@file:missing\.ts is not attached: file not found/u)
    const text = sentText(app)
    expect(text).not.toMatch(/root:|TOKEN=abc|sk-secret/u)
    expect(text).toContain("## Warnings")
  })

  test("changes and commits", async () => {
    await using app = await assembleApp([says("ok")], { workFiles: { "a.txt": "one\n" } })
    const cwd = app.home.workdir
    const git = (...args: string[]): void => {
      const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
      execFileSync("git", [...identity, ...args], { cwd, env: { PATH: process.env["PATH"], HOME: cwd } })
    }
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first commit")
    writeFileSync(join(cwd, "b.txt"), "staged line\n")
    git("add", "b.txt")
    writeFileSync(join(cwd, "a.txt"), "two\n")
    const session = await app.open()
    const { warnings } = await send(session, "review @diff @staged @git:99")
    expect(warnings).toEqual([])
    const text = sentText(app)
    expect([text.includes("+two"), text.includes("+staged line"), text.includes("first commit")]).toEqual([
      true,
      true,
      true,
    ])
    expect(text.startsWith("review\n\n")).toBe(true)
  })

  test("more than half of the context is refused, and nothing is stored or sent", async () => {
    await using app = await assembleApp([says("ok")], {
      config: "  context_length: 64000\n",
      workFiles: Object.fromEntries(["a", "b"].map((name) => [`${name}.txt`, "a longer line of text\n".repeat(5500)])),
    })
    const session = await app.open()
    const files = ["a", "b"].flatMap((name) => [1, 2001, 4001].map((at) => `@file:${name}.txt:${at}-${at + 1499}`))
    const { end } = await send(session, `sum up ${files.join(" ")}`)
    expect(end.result.error).toMatchObject({ code: "not_sent", message: expect.stringContaining("% of the context") })
    expect([app.model.requests.length, session.isStored]).toEqual([0, false])
  })

  test("private addresses are not fetched", async () => {
    await using app = await assembleApp([says("ok")], {})
    const session = await app.open()
    const { warnings } = await send(session, `see @url:${app.model.url}/v1/models and @url:http://169.254.169.254/x`)
    expect(warnings.length).toBe(2)
    expect(warnings.every((text) => text.includes("is not attached"))).toBe(true)
  })

  test("another session, and skills", async () => {
    await using app = await assembleApp([says("The answer was 42."), says("ok"), says("ok")], {
      files: {
        ".no-bundled-skills": "",
        "skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets.\n---\nSay hello in Latin.\n",
      },
    })
    const first = await app.open()
    await send(first, "what was it?")
    const second = await app.open()
    const { warnings } = await send(second, `continue @session:${first.id} with @skill:greet and @skill:none`)
    expect(warnings).toEqual([expect.stringContaining("none")])
    expect(sentText(app)).toContain("User: what was it?\n\nAssistant: The answer was 42.")
    const { warnings: none } = await send(second, "use @skill:greet")
    expect(none).toEqual([])
    expect(sentText(app)).toContain("Say hello in Latin.")
  })

  test("a text that was not typed is left alone", async () => {
    await using app = await assembleApp([says("ok")], { workFiles: { "a.ts": "x" } })
    const session = await app.open()
    for await (const _event of session.run("see @file:a.ts {!date}", { signal: SIGNAL })) continue
    expect(sentText(app)).toBe("see @file:a.ts {!date}")
  })
})

describe("commands of the user", () => {
  test("run under the rules of the session, and the model does not see them", async () => {
    await using app = await assembleApp([says("ok")], { workFiles: { "a.txt": "x" } })
    const session = await app.open()
    const run = async (command: string, answer: "once" | "deny"): Promise<RunEnd> => {
      let end: RunEnd | undefined
      for await (const event of session.runCommand(command, { signal: SIGNAL })) {
        if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: answer })
        if (event.type === "run-end") end = event
      }
      if (end === undefined) throw new Error("no end")
      return end
    }
    expect((await run("echo hello; ls", "deny")).result.finalResponse).toBe("hello\na.txt")
    expect((await run("rm -rf /", "once")).result.error).toMatchObject({ code: "command_refused" })
    expect((await run("git push --force", "deny")).result.error).toMatchObject({ code: "command_refused" })
    expect(session.isStored).toBe(false)
    await send(session, "hi")
    expect(JSON.stringify(app.model.requests)).not.toContain("hello")
  })

  test("inside a message are replaced by their output; in plan mode nothing is sent", async () => {
    await using app = await assembleApp([says("ok")], {})
    const session = await app.open()
    await send(session, "The answer is {!echo '{4}2'} and {!exit 3}.")
    expect(sentText(app)).toBe("The answer is {4}2 and .")
    session.setPermissionProfile("plan")
    const { end } = await send(session, "It is {!date}")
    expect(end.result.error).toMatchObject({ code: "not_sent", message: expect.stringContaining("plan mode") })
    const events: AgentEvent[] = []
    for await (const event of session.runCommand("date", { signal: SIGNAL })) events.push(event)
    expect(events.map(({ type }) => type)).toEqual(["run-start", "run-end"])
    expect(app.model.requests.length).toBe(1)
  })

  test("that were denied stop the message, and the reason is written for the user", async () => {
    await using app = await assembleApp([says("ok")], {})
    const session = await app.open()
    const deny = (event: AgentEvent): void => {
      if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "deny" })
    }
    const { end, tools } = await send(session, "before {!git push --force} after {!echo never}", deny)
    expect(end.result.error).toMatchObject({
      code: "not_sent",
      message: "The message was not sent. You denied {!git push --force}.",
    })
    expect(tools).toEqual(["git push --force"])
    const floor = await send(session, "clean up {!rm -rf /}")
    expect(floor.end.result.error?.message).toMatch(/^The message was not sent\. \{!rm -rf \/\} was not run: .*\.$/u)
    expect(floor.end.result.error?.message).not.toMatch(/BLOCKED|Do not try|silence/u)
    expect([session.isStored, app.model.requests.length]).toEqual([false, 0])
  })

  test("can be cancelled, and the message is not stored", async () => {
    await using app = await assembleApp([says("ok")], {})
    const session = await app.open()
    const { end } = await send(session, "wait {!sleep 300}", (event) => {
      if (event.type === "tool-start") session.interrupt()
    })
    expect([end.outcome, end.result.exitReason]).toEqual(["interrupted", "interrupted_before_sending"])
    expect([session.isStored, app.model.requests.length]).toEqual([false, 0])
  })
})
