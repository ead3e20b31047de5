import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { describe, expect, test } from "vitest"

import { ACCOUNT_CREDENTIALS } from "../../src/config/protected-paths.ts"
import type { AgentEvent } from "../../src/protocol/events.ts"
import { createRepository } from "../support/git-repository.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const CANARY = "canary-4711-of-the-user"

/** What the account, or Hermes itself, would execute or obey later. */
const NEVER_WRITTEN = [
  "~/.local/bin/git",
  "~/bin/x",
  "~/.cargo/bin/x",
  "~/.bashrc",
  "~/.zshenv",
  "~/.gitconfig",
  "~/.config/git/config",
  "~/.config/autostart/x.desktop",
  "~/.config/systemd/user/x.service",
  "~/.config/environment.d/x.conf",
  "~/.vimrc",
  "~/.gradle/init.gradle",
  "~/.pdbrc",
  "~/.lessfilter",
  "~/.docker/cli-plugins/docker-x",
  "~/Desktop/x.desktop",
  "~/.config/lxde/autostart/x",
  "~/.ssh/authorized_keys",
  "~/.hermes/SOUL.md",
  "~/.hermes/active_profile",
  "~/.hermes/config.yaml",
  "~/.hermes/permissions.yaml",
  "~/.hermes/hooks/x.py",
  "~/.hermes/checkpoints/store/config",
  "~/.hermes/memories/MEMORY.md",
  "~/.hermes/profiles/other/SOUL.md",
  "~/elsewhere/.git/hooks/pre-commit",
  "linked/.bashrc",
]
/** What other programs execute in the workspace. */
const EXECUTED = [".git/config", ".git/hooks/pre-commit", ".GIT/config", ".envrc", ".vscode/tasks.json", ".mcp.json"]

const SETTINGS =
  "terminal:\n  sandbox: off\ntool_loop_guardrails:\n  warnings_enabled: false\n  hard_stop_enabled: false\n"

/** Writes each path in a session without a user, with the tool that the index selects. */
async function writeEach(paths: readonly string[], profile: string): Promise<AssembledApp> {
  const calls = paths.map((path, index) =>
    index % 2 === 0
      ? callsTool("write_file", { path, content: CANARY, cross_profile: true })
      : callsTool("patch", { mode: "patch", patch: addFile(path), cross_profile: true }),
  )
  const t = await assembleApp([...calls, says("Done.")], { config: SETTINGS })
  createRepository(t.home.workdir)
  linkHome(t)
  await callOutcomes(t, profile)
  return t
}

function addFile(path: string): string {
  return `*** Begin Patch\n*** Add File: ${path}\n+${CANARY}\n*** End Patch`
}

/** A link in the workspace that leads to the account's home. */
function linkHome({ home }: AssembledApp): void {
  symlinkSync(home.userHome, join(home.workdir, "linked"))
}

async function callOutcomes(t: AssembledApp, permissionProfile: string): Promise<readonly AgentEvent[]> {
  const session = await t.open({ attended: false, permissionProfile })
  return (await runToEnd(session, "go")).events
}

/** The paths that the tools have written. */
function written({ home }: AssembledApp, paths: readonly string[]): readonly string[] {
  return paths.filter((path) => {
    const file = path.startsWith("~") ? path.replace("~", home.userHome) : join(home.workdir, path)
    return existsSync(file) && readFileSync(file, "utf8").includes(CANARY)
  })
}

describe.each(["default", "accept-edits", "auto", "full-auto"])("in the profile %s", (profile) => {
  test("no file tool writes start-up files, programs on the PATH or the home of Hermes", async () => {
    await using t = await writeEach(NEVER_WRITTEN, profile)
    expect(written(t, NEVER_WRITTEN)).toEqual([])
  })

  test("files outside the workspace, and those that other programs execute, need a user", async () => {
    const asked = ["~/notes.txt", ...EXECUTED]
    await using t = await writeEach([...asked, "src/a.ts"], profile)
    expect(written(t, asked)).toEqual(profile === "full-auto" ? ["~/notes.txt", ...NEW_FILES] : [])
    expect(written(t, ["src/a.ts"])).toEqual(["src/a.ts"])
  })
})

/** `patch` does not add a file that exists, and `.GIT` is another directory on this file system. */
const NEW_FILES = [".git/hooks/pre-commit", ".GIT/config", ".envrc", ".vscode/tasks.json", ".mcp.json"]

test("no file tool reads credentials of other programs, even with every question answered", async () => {
  const names = ACCOUNT_CREDENTIALS.filter((_, index) => index % 4 === 0)
  const calls = names.map((name, index) =>
    index % 2 === 0
      ? callsTool("read_file", { path: `~/${name}/login` })
      : callsTool("search_files", { pattern: "canary", path: `~/${name}` }),
  )
  await using t = await assembleApp([...calls, says("Done.")], { config: SETTINGS })
  for (const name of names) {
    const file = join(t.home.userHome, name, "login")
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, CANARY)
  }
  const events = await callOutcomes(t, "full-auto")
  expect(events.filter(({ type }) => type === "tool-end")).toHaveLength(names.length)
  expect(JSON.stringify(events)).not.toContain(CANARY)
})
