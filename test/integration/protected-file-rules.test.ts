import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"

import { expect, test } from "vitest"

import type { AgentEvent, ApprovalChoice } from "../../src/protocol/events.ts"
import type { Session } from "../../src/app/session/session.ts"
import { findBubblewrap } from "../support/bubblewrap.ts"
import { createRepository, git } from "../support/git-repository.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { titleWithReason } from "../support/skip-reason.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { RunRecord } from "./assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined
const walled = test.skipIf(missing !== undefined)

/** What the tools do, without their packages. Each also tries to write what its rule does not open. */
const TOOLS = {
  husky: `mkdir -p .husky/_ && echo echo > .husky/_/pre-commit && git config core.hooksPath .husky/_; echo x > .git/hooks/extra; echo x > .envrc-copy; echo x > .mcp.json`,
  "pre-commit": `echo '#!/bin/sh' > .git/hooks/pre-commit; git config core.editor evil`,
  lefthook: `echo '#!/bin/sh' > .git/hooks/pre-push; git config core.editor evil`,
  npm: `husky`,
}

const WORK = {
  "package.json": JSON.stringify({ name: "example", scripts: { prepare: "husky" } }),
  ".husky/pre-commit": "npm test\n",
  ".mcp.json": "{}\n",
}

async function prepared(commands: readonly string[], profile = "default") {
  const script = commands.flatMap((command) => [callsTool("terminal", { command }), says("Done.")])
  const assembled = await assembleApp(script, { workFiles: WORK, config: "terminal: {sandbox: required}\n" })
  const { workdir } = assembled.home
  createRepository(workdir, {})
  for (const programs of [join(assembled.home.userHome, "bin"), join(workdir, "tools")]) {
    mkdirSync(programs)
    for (const [name, text] of Object.entries(TOOLS)) {
      writeFileSync(join(programs, name), `#!/bin/sh\nPATH=${programs}${delimiter}$PATH\n${text}\n`)
      chmodSync(join(programs, name), 0o755)
    }
  }
  const session = await assembled.open({ permissionProfile: profile })
  return { assembled, session, workdir }
}

function answering(session: Session, choice: Exclude<ApprovalChoice, "timeout">): (event: AgentEvent) => void {
  return (event) => {
    if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice })
  }
}

function questions({ events }: RunRecord): readonly string[] {
  return events.flatMap((event) => (event.type === "approval-request" ? [event.rule] : []))
}

const title = (text: string): string => titleWithReason(text, missing)

walled(
  title("husky writes its hooks and the git settings after an approval, and nothing else that is protected"),
  async () => {
    const { assembled, session, workdir } = await prepared([
      "~/bin/husky",
      "echo x > .husky/pre-commit; git config core.editor evil",
    ])
    await using _assembled = assembled
    const record = await runToEnd(session, "go", answering(session, "once"))
    expect(questions(record)).toEqual(["husky"])
    expect(readdirSync(join(workdir, ".husky/_"))).toEqual(["pre-commit"])
    expect(git(workdir, "config", "--local", "core.hooksPath")).toBe(".husky/_")
    expect([existsSync(join(workdir, ".git/hooks/extra")), readFileSync(join(workdir, ".mcp.json"), "utf8")]).toEqual([
      false,
      "{}\n",
    ])
    // The grant was for that command.
    await runToEnd(session, "again", answering(session, "deny"))
    expect(readFileSync(join(workdir, ".husky/pre-commit"), "utf8")).toBe("npm test\n")
    expect(readFileSync(join(workdir, ".git/config"), "utf8")).not.toContain("evil")
  },
)

walled(title("npm install is asked about where its prepare script installs hooks"), async () => {
  const { assembled, session, workdir } = await prepared(["~/bin/npm install"])
  await using _assembled = assembled
  expect(questions(await runToEnd(session, "go", answering(session, "session")))).toContain("husky")
  expect(git(workdir, "config", "--local", "core.hooksPath")).toBe(".husky/_")
})

walled(title("a package's install script gets neither other git settings nor the scripts of the project"), async () => {
  const { assembled, session, workdir } = await prepared(["~/bin/npm install", "~/bin/npm install", "~/bin/husky init"])
  await using _assembled = assembled
  const npm = join(assembled.home.userHome, "bin/npm")
  const harmless = readFileSync(npm, "utf8")
  const evil = "echo evil >> .husky/pre-commit; echo evil > .husky/pre-push; git config core.sshCommand evil"
  writeFileSync(npm, `${harmless}${evil}\n`)
  const texts = ({ events }: RunRecord): string =>
    events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : [])).join("\n")
  const first = texts(await runToEnd(session, "go", answering(session, "once")))
  expect(readFileSync(join(workdir, ".husky/pre-commit"), "utf8")).toBe("npm test\n")
  expect(readdirSync(join(workdir, ".husky")).toSorted()).toEqual([
    "_",
    "pre-commit",
    "pre-commit.from-sandbox",
    "pre-push.from-sandbox",
  ])
  expect(readFileSync(join(workdir, ".git/config"), "utf8")).not.toContain("evil")
  for (const text of ["(core.sshcommand). Hermes restored them", "pre-commit was changed", ".husky: _/pre-commit"])
    expect(first).toContain(text)
  // What husky has written already is not reported again.
  writeFileSync(npm, harmless)
  expect(texts(await runToEnd(session, "go", answering(session, "once")))).not.toContain("hook")
  const husky = join(assembled.home.userHome, "bin/husky")
  writeFileSync(husky, "#!/bin/sh\necho init > .husky/pre-commit\n")
  const init = texts(await runToEnd(session, "go", answering(session, "once")))
  expect(readFileSync(join(workdir, ".husky/pre-commit"), "utf8")).toBe("init\n")
  expect(init).toContain("wrote hooks that git runs")
})

walled.each([
  ["pre-commit", "~/bin/pre-commit install", "pre-commit"],
  ["lefthook", "~/bin/lefthook install", "pre-push"],
])(title("%s writes the hooks after an approval, and not the git settings"), async (rule, command, hook) => {
  const { assembled, session, workdir } = await prepared([command])
  await using _assembled = assembled
  expect(questions(await runToEnd(session, "go", answering(session, "once")))).toEqual([rule])
  expect(existsSync(join(workdir, ".git/hooks", hook))).toBe(true)
  expect(readFileSync(join(workdir, ".git/config"), "utf8")).not.toContain("evil")
})

walled(
  title("a program that commands can write gets no protected files, and a changed shell is disclosed"),
  async () => {
    const commands = [
      "tools/pre-commit install",
      "PATH=$PWD/tools:$PATH",
      "pre-commit install; husky; npm install",
      "PATH=tools:/usr/bin pre-commit install; git push --force origin main",
    ]
    const { assembled, session, workdir } = await prepared(commands)
    await using _assembled = assembled
    const records: RunRecord[] = []
    for (const command of commands) records.push(await runToEnd(session, command, answering(session, "once")))
    const [first = [], second = [], third = [], fourth = []] = records.map(questions)
    const rules = ["pre-commit", "husky"]
    expect([...first, ...second, ...third, ...fourth].filter((rule) => rules.includes(rule))).toEqual([])
    expect(["pre-commit", "pre-push"].filter((name) => existsSync(join(workdir, ".git/hooks", name)))).toEqual([])
    const asked = (records[3]?.events ?? []).flatMap((event) => (event.type === "approval-request" ? [event] : []))
    expect(asked[0]?.reasons?.join(" ")).toContain("an earlier command of this session set PATH")
    expect(asked[0]?.choices).not.toContain("always")
  },
)

walled(title("git submodule add and update work after an approval"), async () => {
  const add = "git -c protocol.file.allow=always submodule --quiet add ./library.git library"
  const { assembled, session, workdir } = await prepared([add, "git submodule update --init"])
  await using _assembled = assembled
  git(workdir, "init", "--quiet", "--bare", "--initial-branch=main", "library.git")
  git(workdir, "push", "--quiet", "library.git", "main")
  git(workdir, "remote", "add", "origin", workdir)
  expect(questions(await runToEnd(session, "Add ./library.git.", answering(session, "once")))).toEqual([
    "git submodule",
  ])
  expect(git(workdir, "config", "submodule.library.url")).toBe(join(workdir, "library.git"))
  expect(existsSync(join(workdir, ".git/modules/library/config"))).toBe(true)
  expect(questions(await runToEnd(session, "go", answering(session, "once")))).toEqual(["git submodule"])
})

walled(title("git push -u keeps the upstream, also in a repository with hooks"), async () => {
  const push = "git push --quiet -u ./remote.git main"
  const { assembled, session, workdir } = await prepared(["git push --quiet -u origin main", push], "default")
  await using _assembled = assembled
  git(workdir, "init", "--quiet", "--bare", "remote.git")
  git(workdir, "remote", "add", "origin", join(workdir, "remote.git"))
  expect(questions(await runToEnd(session, "Push to origin.", answering(session, "deny")))).toEqual([])
  expect(git(workdir, "config", "branch.main.remote")).toBe("origin")
  git(workdir, "branch", "--unset-upstream")
  writeFileSync(join(workdir, ".git/hooks/pre-push"), "#!/bin/sh\ntrue\n", { mode: 0o755 })
  const asked = await runToEnd(session, "Push to ./remote.git.", answering(session, "once"))
  expect(questions(asked)).toEqual(["git settings"])
  expect(git(workdir, "config", "branch.main.remote")).toBe("./remote.git")
})

test("file tools ask before they write what git obeys in a git directory of another name", async () => {
  const writes = ["fixtures/r.git/config", "fixtures/r.git/hooks/post-receive", "moved/config", "fixtures/notes.md"]
  await using assembled = await assembleApp(
    [...writes.map((path) => callsTool("write_file", { path, content: "[core]\n" })), says("Done.")],
    { config: "terminal: {sandbox: off}\n" },
  )
  const { workdir } = assembled.home
  mkdirSync(join(workdir, "fixtures/r.git"), { recursive: true })
  git(join(workdir, "fixtures/r.git"), "init", "--bare")
  mkdirSync(join(workdir, "nested"))
  createRepository(join(workdir, "nested"), {})
  renameSync(join(workdir, "nested/.git"), join(workdir, "moved"))
  writeFileSync(join(workdir, "nested/.git"), "gitdir: ../moved\n")
  const session = await assembled.open()
  const record = await runToEnd(session, "go", answering(session, "deny"))
  expect(questions(record)).toEqual(["executed file", "executed file", "executed file"])
  expect(existsSync(join(workdir, "fixtures/notes.md"))).toBe(true)
  await session.close("exit")
})

test("file tools ask before they write what settings of git name, in the repository or of the user", async () => {
  const writes = [".githooks/pre-commit", "tools/filter.sh", "deep/er/own-hooks/pre-push", "tools/other.sh"]
  await using assembled = await assembleApp(
    [...writes.map((path) => callsTool("write_file", { path, content: "true\n" })), says("Done.")],
    { config: "terminal: {sandbox: off}\n" },
  )
  const { workdir, userHome } = assembled.home
  createRepository(workdir, {})
  git(workdir, "config", "core.hooksPath", ".githooks")
  git(workdir, "config", "filter.own.clean", "sh tools/filter.sh %f")
  writeFileSync(join(userHome, ".gitconfig"), "[core]\n\thooksPath = own-hooks\n")
  mkdirSync(join(workdir, "deep/er"), { recursive: true })
  createRepository(join(workdir, "deep/er"), {})
  const session = await assembled.open()
  const record = await runToEnd(session, "go", answering(session, "deny"))
  expect(questions(record)).toEqual(["executed file", "executed file", "executed file"])
  expect(writes.filter((path) => existsSync(join(workdir, path)))).toEqual(["tools/other.sh"])
  await session.close("exit")
})
