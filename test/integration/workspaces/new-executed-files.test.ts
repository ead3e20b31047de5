import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import type { ReplyTurn } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

const MAKE =
  "echo evil > .envrc; mkdir -p .claude .husky && echo '{}' > .claude/settings.json; echo x > .husky/pre-commit"
const SCRIPT = `import { mkdirSync, writeFileSync } from "node:fs"
mkdirSync(".claude"); mkdirSync(".husky")
for (const name of [".envrc", ".claude/settings.json", ".husky/pre-commit"]) writeFileSync(name, "evil")
console.log("made")`

async function run(call: ReplyTurn, options: { readonly profile?: string; readonly approves?: boolean } = {}) {
  const { profile = "default", approves } = options
  const assembled = await assembleApp([call, says("Done.")], {
    config: `terminal: {sandbox: required}\n${approves === undefined ? "" : "checkpoints: {enabled: false}\n"}`,
  })
  const session = await assembled.open({ permissionProfile: profile, attended: approves !== undefined })
  const asked: string[] = []
  const { events } = await runToEnd(session, "go", (event) => {
    if (event.type !== "approval-request") return
    asked.push(JSON.stringify(event))
    session.answer(event.requestId, { kind: "approval", choice: "once" })
  })
  const warnings = events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : []))
  const { workdir } = assembled.home
  return {
    workdir,
    asked,
    warnings: warnings.join("\n"),
    result: assembled.model.toolResults(1).at(-1)?.text ?? "",
    has: (name: string) => existsSync(join(workdir, name)),
    [Symbol.asyncDispose]: () => assembled[Symbol.asyncDispose](),
  }
}

describe.skipIf(missing !== undefined)(titleWithReason("new files that other programs execute", missing), () => {
  test.each([
    ["a command", callsTool("terminal", { command: MAKE })],
    ["a script", callsTool("execute_code", { code: SCRIPT })],
  ])("what %s creates is renamed; the user and the model are informed", async (_name, call) => {
    await using done = await run(call)
    expect([".envrc", ".claude/settings.json", ".husky"].filter(done.has)).toEqual([])
    expect(readdirSync(done.workdir)).toEqual(expect.arrayContaining([".envrc.from-sandbox", ".husky.from-sandbox"]))
    for (const name of [".envrc", ".claude/settings.json", ".husky"])
      expect(done.warnings).toContain(`${name} appeared, which other programs execute. Hermes renamed it`)
    expect(done.result).toContain("renamed it to .envrc.from-sandbox")
    expect(done.result).toContain("write it with a file tool, which asks the user")
  })

  test("with full-auto they stay and are reported", async () => {
    await using done = await run(callsTool("terminal", { command: MAKE }), { profile: "full-auto" })
    expect(done.has(".envrc")).toBe(true)
    expect(done.warnings).toContain(".envrc appeared")
  })

  test("a file that the user approved stays", async () => {
    await using done = await run(callsTool("terminal", { command: "echo mine > .envrc" }), { approves: true })
    expect(done.asked.join()).toContain(".envrc")
    expect(readFileSync(join(done.workdir, ".envrc"), "utf8")).toBe("mine\n")
    expect(done.warnings).not.toContain(".envrc")
  })

  test("a new repository keeps its own files", async () => {
    await using done = await run(callsTool("terminal", { command: "git init -q . && git status --short && echo ok" }))
    expect(done.has(".git/config")).toBe(true)
    expect(done.has(".git/hooks")).toBe(true)
    expect(done.result).toContain("ok")
    expect(readdirSync(join(done.workdir, ".git")).filter((name) => name.includes("from-sandbox"))).toEqual([])
  })
})
