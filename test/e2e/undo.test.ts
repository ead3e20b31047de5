import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { directoryContents } from "../support/directory-contents.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, reply, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor, streamLines } from "./hermes-process.ts"

const FULL_AUTO = "approvals:\n  profile: full-auto\n"

/** One turn that edits with tools, and deletes, renames, chmods, links and creates files with the shell. */
const WRECKS = reply({
  calls: [
    { name: "write_file", input: { path: "a.txt", content: "spoiled\n" } },
    { name: "patch", input: { path: "b.txt", old_string: "two", new_string: "TWO" } },
    {
      name: "terminal",
      input: {
        command: "rm c.txt; mv d.txt moved.txt; chmod 600 tool.sh; ln -s a.txt link; mkdir made; echo n >made/n",
      },
    },
  ],
})

const WORK_FILES = {
  "a.txt": "one\n",
  "b.txt": "one\ntwo\n",
  "c.txt": "gone\n",
  "d.txt": "renamed\n",
  "tool.sh": "#!/bin/sh\n",
}

/** Creates a repository with a changed index, a stash, branches and hooks that leave a trace when they run. */
function createUserRepository(home: TemporaryHome): void {
  chmodSync(join(home.workdir, "tool.sh"), 0o755)
  const script = `
    git init -q . && git config user.name t && git config user.email t@t && git add . && git commit -qm first && git branch other
    echo stashed >>a.txt; git stash -q; echo staged >>b.txt; git add b.txt; git checkout -q -- . ; printf 'one\\ntwo\\n' >b.txt
    for hook in pre-commit post-checkout post-index-change reference-transaction; do
      printf '#!/bin/sh\\ntouch ${home.userHome}/hook-ran\\n' >.git/hooks/$hook; chmod +x .git/hooks/$hook
    done`
  execFileSync("sh", ["-ec", script], {
    cwd: home.workdir,
    env: { ...home.env, GIT_CONFIG_NOSYSTEM: "1" },
    stdio: "ignore",
  })
}

const repositoryOf = (home: TemporaryHome) => directoryContents(join(home.workdir, ".git"))
const treeOf = (home: TemporaryHome) => directoryContents(home.workdir, [".git"])

test("/rollback lists, compares, restores one file or all, and undoes that; the user's repository does not change", async () => {
  await using model = await startModelServer([WRECKS, says("Wrecked."), says("Hello again.")])
  await using home = await temporaryHome({ config: settingsFor(model, FULL_AUTO), workFiles: WORK_FILES })
  createUserRepository(home)
  const repository = repositoryOf(home)
  const before = treeOf(home)
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "wreck it")
  await terminal.waitFor("Wrecked.")
  const wrecked = treeOf(home)
  expect(Object.keys(wrecked)).toContain("/moved.txt")

  enter(terminal, "/rollback")
  await terminal.waitFor(/Snapshots of .*\n1\. [0-9a-f]{8} {2}.* write_file a\.txt/u)
  enter(terminal, "/rollback diff 1 b.txt")
  await terminal.waitFor(/-two\n\+TWO\n(?:.*\n)*1 file changed since/u)
  enter(terminal, "/rollback 1 c.txt")
  await terminal.waitFor(/Restored [0-9a-f]{8}: c\.txt\./u)
  expect(treeOf(home)).toEqual({ ...wrecked, "/c.txt": before["/c.txt"] })

  // Restoring one file took a snapshot, so the snapshot of the turn is now the second.
  enter(terminal, "/rollback 2")
  await terminal.waitFor(
    /This removes 3 files that are newer than the snapshot: link, made\/n, moved\.txt\.\s+Continue\?/u,
  )
  enter(terminal, "n")
  await terminal.waitFor("Nothing was changed.")
  enter(terminal, "/rollback 2")
  await terminal.waitFor(/(?:This removes 3 files[^]*){2}/u)
  enter(terminal, "y")
  await terminal.waitFor("were removed from the conversation")
  expect(treeOf(home)).toEqual(before)
  // The reply names the snapshot that undoes the restore.
  await terminal.waitFor(/were removed from the conversation\.\nTo undo this: \/rollback [0-9a-f]{8}\n/u)
  const shown = [...terminal.scrollback(), ...terminal.screen()].join("\n")
  const [, undo = ""] =
    /To undo this: (\/rollback [0-9a-f]{8})/u.exec(shown.slice(shown.indexOf("were removed from"))) ?? []
  enter(terminal, undo.replace("rollback", "rollback diff"))
  await terminal.waitFor(/(?:file|files) changed since [^]*(?:file|files) changed since /u)
  enter(terminal, undo)
  await terminal.waitFor(/This removes 1 file that is newer than the snapshot: d\.txt\./u)
  enter(terminal, "y")
  await terminal.waitFor(/(?:Restored [^]*){3}/u)
  expect(treeOf(home)).toEqual({ ...wrecked, "/c.txt": before["/c.txt"] })
  enter(terminal, "hello")
  await terminal.waitFor("Hello again.")
  const [message, ...others] = model.view(2).messages.map(({ text }) => text)
  expect([message?.startsWith("hello\n"), message?.includes("restored an earlier state"), others]).toEqual([
    true,
    true,
    [],
  ])
  expect(repositoryOf(home)).toEqual(repository)
  expect(directoryContents(home.userHome, [".hermes"])["/hook-ran"]).toBeUndefined()
})

test("several turns, a resume and a second session: /rollback removes exactly the turns whose changes it undoes", async () => {
  const writes = (text: string) => [
    callsTool("write_file", { path: "a.txt", content: `${text}\n` }),
    says(`Wrote ${text}.`),
  ]
  await using model = await startModelServer([
    ...writes("first"),
    ...writes("second"),
    ...writes("other"),
    ...writes("third"),
    says("Hello again."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: WORK_FILES })
  createUserRepository(home)
  const file = () => readFileSync(join(home.workdir, "a.txt"), "utf8")
  await hermes(home, ["-z", "write first"], { stdin: "inherit-null" })
  await hermes(home, ["-z", "write second", "-c"], { stdin: "inherit-null" })
  await hermes(home, ["-z", "write other"], { stdin: "inherit-null" })
  await using terminal = await openChat(home, ["--resume", "write first"])
  await prompt(terminal, 1)
  enter(terminal, "write third")
  await terminal.waitFor("Wrote third.")
  await prompt(terminal, 2)
  // The snapshots, newest first: before third, other, second, first.
  enter(terminal, "/rollback 2")
  await terminal.waitFor(/The conversation did not change: the message of this snapshot .* belongs to another/u)
  expect(file()).toBe("second\n")
  enter(terminal, "/rollback 4")
  await terminal.waitFor('Your message "write second" and everything after it were removed from the conversation.')
  expect(file()).toBe("first\n")
  enter(terminal, "hello")
  await terminal.waitFor("Hello again.")
  const texts = model.view(8).messages.map(({ text }) => text)
  expect(texts.filter((text) => text.startsWith("w") || text.startsWith("h"))).toEqual([
    "write first",
    expect.stringMatching(/^hello/u),
  ])
})

test("without git the user is asked once whether to continue without undo", async () => {
  const touch = (name: string) => [callsTool("write_file", { path: name, content: "x\n" }), says(`Done with ${name}.`)]
  await using model = await startModelServer([...touch("one"), ...touch("two"), ...touch("three"), ...touch("four")])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: WORK_FILES })
  const env = { ...home.env, PATH: join(home.userHome, "empty") }
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args: [],
    env,
    cwd: home.workdir,
    rows: 60,
    columns: 160,
  })
  await prompt(terminal, 1)
  enter(terminal, "make one")
  await terminal.waitFor(
    /No snapshot of .* could be taken: git cannot be started[^]*Continue without undo\?[^]*Number:/u,
  )
  enter(terminal, "n")
  await terminal.waitFor("Done with one.")
  expect(existsSync(join(home.workdir, "one"))).toBe(false)
  await prompt(terminal, 2)
  enter(terminal, "make two")
  await terminal.waitFor(/(?:Continue without undo\?[^]*Number:[^]*){2}/u)
  enter(terminal, "y")
  await terminal.waitFor("Done with two.")
  await prompt(terminal, 3)
  enter(terminal, "make three")
  await terminal.waitFor("Done with three.")
  expect(["two", "three"].map((name) => existsSync(join(home.workdir, name)))).toEqual([true, true])

  const script = await hermes(home, ["-q", "make four", "--output-format", "stream-json"], {
    env,
    stdin: "inherit-null",
  })
  const warnings = streamLines(script.stdout).filter(({ type, kind }) => type === "status" && kind === "warning")
  expect(warnings.map(({ text }) => text)).toEqual([expect.stringContaining("git cannot be started")])
  expect(script.stdout).toContain("Note: No snapshot of ")
})

test("hermes checkpoints lists, compares, restores, undoes a restore, shows the status and prunes", async () => {
  await using model = await startModelServer([WRECKS, says("Wrecked.")])
  await using home = await temporaryHome({ config: settingsFor(model, FULL_AUTO), workFiles: WORK_FILES })
  createUserRepository(home)
  const repository = repositoryOf(home)
  const before = treeOf(home)
  expect((await hermes(home, ["-z", "wreck it", "--yolo"])).stdout).toContain("Wrecked.")
  const wrecked = treeOf(home)
  const run = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await hermes(home, ["checkpoints", ...line.split(" ")])
    expect([line, code, stderr]).toEqual([line, 0, ""])
    return stdout
  }
  const [hash = ""] = (await run("list")).split(" ")
  expect(await run(`diff ${hash} a.txt`)).toContain("-one\n+spoiled\n")
  await run(`restore ${hash} d.txt -y`)
  expect(treeOf(home)).toEqual({ ...wrecked, "/d.txt": before["/d.txt"] })
  const restored = await run(`restore ${hash} -y`)
  expect(treeOf(home)).toEqual(before)
  const undo = /checkpoints restore ([0-9a-f]+)/u.exec(restored)?.[1] ?? ""
  await run(`restore ${undo} -y`)
  expect(treeOf(home)).toEqual({ ...wrecked, "/d.txt": before["/d.txt"] })
  expect(await run("status")).toMatch(/Directories 1\n.*\(\d+ snapshots, last /u)
  expect(await run("prune --retention-days 0")).toMatch(/^Removed \d+ snapshots?/u)
  expect(repositoryOf(home)).toEqual(repository)
  expect(directoryContents(home.userHome, [".hermes"])["/hook-ran"]).toBeUndefined()
})

test("a restore names large new files that it leaves; a missing directory is an error", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: "truncate -s 11M dump.bin; echo new >a.txt" }),
    says("Done."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, FULL_AUTO), workFiles: WORK_FILES })
  await hermes(home, ["-z", "work"], { stdin: "inherit-null" })
  const run = async (line: string) => await hermes(home, ["checkpoints", ...line.split(" ")], { stdin: "inherit-null" })
  const [hash = ""] = (await run("list")).stdout.split(" ")
  const restored = await run(`restore ${hash} -y`)
  expect([restored.code, restored.stdout, restored.stderr]).toEqual([
    0,
    expect.stringContaining("restored  a.txt"),
    "left as it is: dump.bin (created since; too large for a snapshot)\n",
  ])
  const missing = await run("list --dir /nope")
  expect([missing.code, missing.stdout, missing.stderr]).toEqual([2, "", "The directory /nope does not exist.\n"])
})

test("the checkpoint tool restores files and, on request, the conversation", async () => {
  const restore = callsTool("checkpoint", { action: "restore", name: "good", include_conversation: true })
  await using model = await startModelServer([
    callsTool("checkpoint", { action: "save", name: "good", include_conversation: true }),
    says("Saved."),
    callsTool("terminal", { command: "rm a.txt; echo new >extra" }),
    says("Tried."),
    restore,
    says("Restored."),
    says("Where were we?"),
  ])
  await using home = await temporaryHome({
    config: settingsFor(model, `${FULL_AUTO}toolsets: [file, terminal, checkpoint]\n`),
    workFiles: WORK_FILES,
  })
  const before = treeOf(home)
  await using terminal = await openChat(home)
  enter(terminal, "save the state")
  await terminal.waitFor("Saved.")
  enter(terminal, "try something")
  await terminal.waitFor("Tried.")
  expect(treeOf(home)).not.toEqual(before)
  enter(terminal, "go back")
  await terminal.waitFor("Restored.")
  expect(treeOf(home)).toEqual(before)
  await prompt(terminal, 4)
  enter(terminal, "go on")
  await terminal.waitFor("Where were we?")
  const texts = model.view(6).messages.map(({ text }) => text)
  expect([texts.includes("save the state"), texts.includes("try something"), texts.at(-1)]).toEqual([
    true,
    false,
    "go on",
  ])
})

test("/undo removes a message but no files; /branch --from continues from an earlier message", async () => {
  await using model = await startModelServer([
    says("Peas it is."),
    callsTool("write_file", { path: "plan.txt", content: "beans\n" }),
    says("Beans it is."),
    says("Carrots it is."),
    says("From the peas on."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "plant peas")
  await terminal.waitFor("Peas it is.")
  enter(terminal, "plant beans")
  await terminal.waitFor("Beans it is.")
  enter(terminal, "/undo")
  await terminal.waitFor("Remove your last message and everything after?")
  enter(terminal, "y")
  await terminal.waitFor("Removed: plant beans")
  // The message is in the input line again; Ctrl+U clears it.
  terminal.press("ctrl+u")
  expect(readFileSync(join(home.workdir, "plan.txt"), "utf8")).toBe("beans\n")
  enter(terminal, "plant carrots")
  await terminal.waitFor("Carrots it is.")
  expect(model.view(3).messages.map(({ text }) => text)).toEqual(["plant peas", "Peas it is.", "plant carrots"])
  enter(terminal, "/branch --from")
  await terminal.waitFor(/^ *\d+ {2}.*Peas it is\./mu)
  const message = /^ *(\d+) {2}.*Peas it is\./mu.exec(terminal.screen().join("\n"))?.[1] ?? ""
  enter(terminal, `/branch --from ${message} Only peas`)
  await terminal.waitFor(/You are now in "Only peas" \(\S+\), a copy with 2 messages/u)
  enter(terminal, "and now?")
  await terminal.waitFor("From the peas on.")
  expect(model.view(4).messages.map(({ text }) => text)).toEqual(["plant peas", "Peas it is.", "and now?"])
})

test("hermes sessions branch --from copies up to an earlier message and keeps the original", async () => {
  await using model = await startModelServer([says("Peas it is."), says("Beans it is."), says("From the peas on.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await hermes(home, ["-z", "plant peas"])
  await hermes(home, ["-z", "plant beans", "-c"])
  const shown = await hermes(home, ["sessions", "show", "plant peas", "--json"])
  const { messages } = JSON.parse(shown.stdout) as { readonly messages: readonly { id: number; content: string }[] }
  const from = messages.find(({ content }) => content === "Peas it is.")?.id ?? 0
  const branched = await hermes(home, [
    "sessions",
    "branch",
    "plant peas",
    "--from",
    String(from),
    "--title",
    "only peas",
  ])
  expect([branched.code, branched.stdout]).toEqual([0, expect.stringContaining('("only peas") branches off ')])
  expect((await hermes(home, ["-z", "and now?", "--resume", "only peas"])).stdout).toBe("From the peas on.\n")
  expect(model.view(2).system).toBe(model.view(0).system)
  expect(model.view(2).messages.map(({ text }) => text)).toEqual(["plant peas", "Peas it is.", "and now?"])
  expect((await hermes(home, ["sessions", "show", "plant peas", "--json"])).stdout).toContain("Beans it is.")
})

async function openChat(home: TemporaryHome, args: readonly string[] = []): Promise<VirtualTerminal> {
  return await openTerminal({
    command: hermesCommand(),
    args,
    env: home.env,
    cwd: home.workdir,
    rows: 60,
    columns: 160,
  })
}

async function prompt(terminal: VirtualTerminal, times: number): Promise<void> {
  await terminal.waitFor(new RegExp(`(?:^you> [^]*){${times}}`, "m"))
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}

test("a patch in the form of OpenAI's models moves a file and can be undone; a move to a protected path is denied", async () => {
  const moves = (to: string) =>
    callsTool("patch", {
      mode: "patch",
      patch: `*** Begin Patch\n*** Update File: b.txt\n*** Move to: ${to}\n@@\n-two\n+TWO\n*** End Patch`,
    })
  await using model = await startModelServer([moves("~/.ssh/authorized_keys"), moves("new/b.txt"), says("Moved.")])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: WORK_FILES })
  createUserRepository(home)
  const before = treeOf(home)
  expect((await hermes(home, ["-z", "move it"], { stdin: "inherit-null" })).stdout).toMatch(/^Moved\.\n/)
  expect(model.toolResults(1)[0]?.text).toMatch(/authorized_keys/)
  expect(existsSync(join(home.userHome, ".ssh"))).toBe(false)
  expect(readFileSync(join(home.workdir, "new/b.txt"), "utf8")).toBe("one\nTWO\n")
  expect(existsSync(join(home.workdir, "b.txt"))).toBe(false)
  const { stdout } = await hermes(home, ["checkpoints", "list"], { stdin: "inherit-null" })
  const hash = /\b[0-9a-f]{8,}\b/u.exec(stdout)?.[0] ?? ""
  expect((await hermes(home, ["checkpoints", "restore", hash, "-y"], { stdin: "inherit-null" })).code).toBe(0)
  expect(treeOf(home)).toEqual(before)
})
