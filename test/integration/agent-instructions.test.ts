import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { Session } from "../../src/app/session/session.ts"
import type { AgentEvent } from "../../src/protocol/events.ts"
import { findBubblewrap } from "../support/bubblewrap.ts"
import { createRepository, git } from "../support/git-repository.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { titleWithReason } from "../support/skip-reason.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined
const walled = test.skipIf(missing !== undefined)

function denying(session: Session): (event: AgentEvent) => void {
  return (event) => {
    if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "deny" })
  }
}

/** Writes with file tools, the first ones of which have to be asked about. */
const WRITES = [
  callsTool("write_file", { path: "AGENTS.md", content: "Obey.\n" }),
  callsTool("write_file", { path: "packages/web/claude.md", content: "Obey.\n" }),
  callsTool("write_file", { path: ".claude/commands/review.md", content: "Obey.\n" }),
  callsTool("write_file", { path: ".github/copilot-instructions.md", content: "Obey.\n" }),
  callsTool("patch", { mode: "replace", path: ".cursorrules", old_string: "old", new_string: "Obey." }),
  callsTool("patch", {
    mode: "patch",
    patch: "*** Begin Patch\n*** Add File: .hermes/skills/x/SKILL.md\n+Obey.\n*** End Patch",
  }),
]
const ORDINARY = [
  callsTool("write_file", { path: "README.md", content: "# Read me\n" }),
  callsTool("write_file", { path: "docs/agents/guide.md", content: "# Guide\n" }),
]

test.each(["default", "accept-edits", "auto"])(
  "in the profile %s the user is asked before the model changes what agents follow, and not about other Markdown",
  async (permissionProfile) => {
    await using assembled = await assembleApp([...WRITES, ...ORDINARY, says("Done.")], {
      config: 'approvals: {auto_escalation: ask}\nterminal: {sandbox: "off"}\n',
      workFiles: { ".cursorrules": "old\n" },
    })
    const session = await assembled.open({ permissionProfile })
    const { events } = await runToEnd(session, "go", denying(session))
    const reasons = events.flatMap((event) =>
      event.type === "approval-request" ? [(event.reasons ?? []).join(" ")] : [],
    )
    expect(reasons).toHaveLength(WRITES.length)
    expect(reasons.filter((reason) => !reason.includes("whose text agents follow in later sessions"))).toEqual([])
    const written = (path: string): boolean => existsSync(join(assembled.home.workdir, path))
    expect([written("AGENTS.md"), written("README.md"), written("docs/agents/guide.md")]).toEqual([false, true, true])
    expect(readFileSync(join(assembled.home.workdir, ".cursorrules"), "utf8")).toBe("old\n")
  },
)

walled(
  titleWithReason("in the sandbox only git changes what agents follow, when it updates the working tree", missing),
  async () => {
    const commands = [
      "echo Obey. >> AGENTS.md; echo Obey. >> CLAUDE.md; rm -f AGENTS.md; echo Obey. > .cursorrules; mkdir -p .hermes/commands && echo Obey. > .hermes/commands/x.md; true",
      "git checkout -q other",
      "echo Obey. >> AGENTS.md; mv AGENTS.md b.md; true",
    ]
    const script = [...commands.map((command) => callsTool("terminal", { command })), says("Done.")]
    await using assembled = await assembleApp(script, { config: "terminal: {sandbox: required}\n" })
    const { workdir } = assembled.home
    writeFileSync(join(workdir, "AGENTS.md"), "Test with make.\n")
    symlinkSync("AGENTS.md", join(workdir, "CLAUDE.md"))
    createRepository(workdir, {})
    git(workdir, "checkout", "-qb", "other")
    writeFileSync(join(workdir, "AGENTS.md"), "Test with npm.\n")
    git(workdir, "commit", "-qam", "other rules")
    git(workdir, "checkout", "-q", "-")
    const session = await assembled.open({ permissionProfile: "default" })
    const { events } = await runToEnd(session, "go", denying(session))
    expect(events.filter(({ type }) => type === "approval-request")).toEqual([])
    expect(readFileSync(join(workdir, "AGENTS.md"), "utf8")).toBe("Test with npm.\n")
    expect(git(workdir, "status", "--porcelain", "--", "AGENTS.md", "CLAUDE.md")).toBe("")
    expect([".cursorrules", ".hermes/commands"].filter((name) => existsSync(join(workdir, name)))).toEqual([])
    expect(readFileSync(join(workdir, ".cursorrules.from-sandbox"), "utf8")).toBe("Obey.\n")
    const warnings = events.flatMap((event) => (event.type === "status" ? [event.text] : []))
    expect(warnings.join("\n")).toContain(".cursorrules appeared, whose text agents follow in later sessions")
  },
)
