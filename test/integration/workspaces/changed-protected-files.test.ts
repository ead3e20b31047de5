import { appendFileSync, copyFileSync, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { createRepository, git } from "../../support/git-repository.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import type { ScriptEntry } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

const SOON = { timeout: 10_000, interval: 20 }
const FILES = {
  "AGENTS.md": "Be kind.\n",
  ".envrc": "true\n",
  ".vscode/tasks.json": "{}\n",
  ".claude/commands/mine.md": "Mine.\n",
  "a.txt": "one\n",
}

async function open(
  script: readonly ScriptEntry[],
  files: Readonly<Record<string, string>> = {},
  config = "checkpoints: {enabled: false}\n",
) {
  const assembled = await assembleApp(script, { config: `terminal: {sandbox: required}\n${config}` })
  const { workdir } = assembled.home
  createRepository(workdir, { ...FILES, ...files })
  git(workdir, "remote", "add", "origin", "https://git.example/mine.git")
  const session = await assembled.open()
  const at = (name: string): string => join(workdir, name)
  const asked: string[] = []
  return {
    assembled,
    session,
    workdir,
    asked,
    at,
    text: (name: string): string => readFileSync(at(name), "utf8"),
    has: (name: string): boolean => lstatSync(at(name), { throwIfNoEntry: false }) !== undefined,
    /** As an editor does it that saves by rename. */
    save: (name: string): void => {
      copyFileSync(at(name), at(`${name}.swp`))
      renameSync(at(`${name}.swp`), at(name))
    },
    run: async (): Promise<string> => {
      const { events, end } = await runToEnd(session, "go", (event) => {
        if (event.type !== "approval-request") return
        asked.push(event.rule)
        session.answer(event.requestId, { kind: "approval", choice: "once" })
      })
      const texts = events.flatMap((event) => (event.type === "status" ? [event.text] : []))
      return [...texts, ...(end.result.notes ?? [])].join("\n")
    },
    close: async (): Promise<string> => {
      await session.close("completed")
      await assembled.app.close()
      return assembled.app.takeCommandNotices().join("\n")
    },
    [Symbol.asyncDispose]: () => assembled[Symbol.asyncDispose](),
  }
}

type Opened = Awaited<ReturnType<typeof open>>

/** Waits in a background process until the test creates a file. */
const after = (signal: string, command: string): string =>
  `touch ready; until [ -e ${signal} ]; do sleep 0.02; done; ${command}; touch ${signal}.done`
const background = (command: string) => callsTool("terminal", { command, background: true })
const terminal = (command: string) => callsTool("terminal", { command })
/** The mounts of the background process exist. */
const IS_READY = "until [ -e ready ]; do sleep 0.02; done"

async function signal(opened: Opened, name: string): Promise<void> {
  writeFileSync(opened.at(name), "")
  await expect.poll(() => opened.has(`${name}.done`), SOON).toBe(true)
}

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1
}

describe.skipIf(missing !== undefined)(
  titleWithReason("protected files that change while a command runs", missing),
  () => {
    test("are reported when the mounts are lost because the user saved them; nothing is undone or reported twice", async () => {
      const names = ["AGENTS.md", ".envrc", ".vscode/tasks.json"]
      await using opened = await open(
        [
          background("sh k.sh"),
          terminal(IS_READY),
          says("Done."),
          terminal("true"),
          says("Done."),
          terminal("true"),
          says("Done."),
        ],
        {
          "k.sh": after("first", `for n in ${names.join(" ")}; do echo evil >> $n; done`),
        },
      )
      await opened.run()
      // The last one is written again as it was.
      for (const name of [...names, ".claude/commands/mine.md"]) opened.save(name)
      await signal(opened, "first")
      const shown = await opened.run()
      for (const name of names) expect([name, occurrences(shown, `/${name}`)]).toEqual([name, 1])
      expect(shown).toContain(
        "changed. Other programs execute or agents follow these files. If you did not change them yourself",
      )
      expect(shown).not.toContain("mine.md")
      expect(opened.text("AGENTS.md")).toBe("Be kind.\nevil\n")
      expect(JSON.stringify(opened.assembled.model.requests.at(-1)?.body)).toContain(
        "If you did not change them yourself",
      )
      expect(await opened.run()).not.toContain("AGENTS.md")
      expect(await opened.close()).toBe("")
    })

    test("are not reported when the user saves them unchanged or the command was approved for them", async () => {
      await using opened = await open([
        terminal("echo mine >> AGENTS.md"),
        says("Done."),
        background("sleep 100"),
        callsTool("write_file", { path: ".claude/commands/new.md", content: "New.\n" }),
        says("Done."),
      ])
      const first = await opened.run()
      expect(opened.text("AGENTS.md")).toBe("Be kind.\nmine\n")
      const second = await opened.run()
      opened.save("AGENTS.md")
      expect(opened.asked.length).toBeGreaterThan(0)
      const rest = await opened.close()
      expect([first, second, rest].join("\n")).not.toMatch(/changed|appeared/u)
      expect(opened.text(".claude/commands/new.md")).toBe("New.\n")
    })

    test("git settings that lead a push elsewhere are restored; what git keeps for a command stays", async () => {
      await using opened = await open(
        [
          background("sh k.sh"),
          terminal(IS_READY),
          terminal("git config user.name bob2"),
          says("Done."),
          terminal("git remote set-url origin https://git.example/other.git"),
          terminal("git config branch.main.remote origin"),
          terminal("git branch -q --track topic main"),
          terminal("git remote rename origin upstream"),
          says("Done."),
        ],
        {
          "k.sh": after(
            "first",
            String.raw`printf '[remote "origin"]\n\tpushurl = https://evil.example/x\n\turl = https://evil.example/y\n[branch "main"]\n\tpushRemote = https://evil.example/z\n' >> .git/config`,
          ),
        },
      )
      await opened.run()
      await signal(opened, "first")
      const shown = await opened.run()
      const config = opened.text(".git/config")
      expect(config).not.toContain("evil")
      expect(config).toContain("bob2")
      expect(shown).toContain(
        "(remote.origin.url, remote.origin.pushurl, branch.main.pushremote). Hermes restored them",
      )
      expect(occurrences(shown, "Hermes restored")).toBe(1)
      expect(git(opened.workdir, "remote", "get-url", "upstream")).toBe("https://git.example/other.git")
      expect(git(opened.workdir, "config", "branch.main.remote")).toBe("upstream")
      expect(git(opened.workdir, "config", "branch.topic.remote")).toBe(".")
      expect(await opened.close()).toBe("")
    })

    test("the value of a setting with which git starts a program is restored, and the user's own edit of others stays", async () => {
      await using opened = await open([background("sleep 100"), says("Done."), terminal("true"), says("Done.")])
      git(opened.workdir, "config", "filter.x.smudge", "cat")
      await opened.run()
      git(opened.workdir, "config", "filter.x.smudge", "evil")
      git(opened.workdir, "config", "user.name", "Ada")
      appendFileSync(opened.at(".vscode/tasks.json"), "\n")
      const shown = await opened.run()
      expect(shown).toContain("(filter.x.smudge). Hermes restored them")
      expect(git(opened.workdir, "config", "filter.x.smudge")).toBe("cat")
      expect(git(opened.workdir, "config", "user.name")).toBe("Ada")
      expect(opened.text(".vscode/tasks.json")).toBe("{}\n\n")
    })

    test("a file in a protected directory is reported however deep the directory is", async () => {
      const deep = "a/b/c/d/e/f/.claude/commands/x.md"
      await using opened = await open([terminal("sh k.sh"), says("Done.")], {
        [deep]: "Mine.\n",
        "k.sh": `echo evil >> ${deep}`,
      })
      expect(await opened.run()).toContain(`${deep} changed. Check it before you use it.`)
    })

    test("settings of a repository that is new since a background process started are compared too", async () => {
      await using opened = await open(
        [background("sleep 100"), terminal("git init -q new"), terminal("true"), terminal("sh k.sh"), says("Done.")],
        { "k.sh": "git -C new config core.fsmonitor evil" },
      )
      expect(await opened.run()).toContain(
        "new/.git/config got entries with which git starts programs or contacts other servers (core.fsmonitor)",
      )
      expect(opened.text("new/.git/config")).not.toContain("evil")
    })

    test("git may change what its index has, in one notice; what others write meanwhile is undone or reported", async () => {
      const write = "for d in . n1 n1/.claude/commands; do mkdir -p $d; echo OBEY > $d/CLAUDE.md; done"
      await using opened = await open(
        [
          background("sh k.sh"),
          terminal(IS_READY),
          says("Done."),
          terminal("git checkout -q other"),
          says("Done."),
          terminal("git checkout -q main"),
          says("Done."),
        ],
        { "k.sh": `${after("first", write)}; ${after("second", "until echo obey >> AGENTS.md; do sleep 0.02; done")}` },
      )
      const { workdir } = opened
      git(workdir, "checkout", "-q", "-b", "other")
      for (const name of ["AGENTS.md", "deep/a/b/c/d/e/AGENTS.md", ".claude/commands/mine.md"]) {
        mkdirSync(dirname(opened.at(name)), { recursive: true })
        writeFileSync(opened.at(name), "Other.\n")
      }
      git(workdir, "add", ".")
      git(workdir, "commit", "-qm", "other")
      git(workdir, "checkout", "-q", "main")
      await opened.run()
      // The hook stands for the time that git takes; the process writes while git runs.
      const hook = opened.at(".git/hooks/post-checkout")
      writeFileSync(hook, "#!/bin/sh\ntouch first; until [ -e first.done ]; do sleep 0.02; done\n", { mode: 0o755 })
      const shown = await opened.run()
      expect(shown).toContain(
        "git changed .claude/commands/mine.md, AGENTS.md, deep/a/b/c/d/e/AGENTS.md. Agents follow",
      )
      expect(occurrences(shown, "git changed")).toBe(1)
      for (const name of ["CLAUDE.md", "n1/CLAUDE.md", "n1/.claude/commands/CLAUDE.md"]) {
        expect([name, opened.has(name)]).toEqual([name, false])
        expect(occurrences(shown, `/work/${name} appeared`)).toBe(1)
      }
      expect(opened.text("AGENTS.md")).toBe("Other.\n")
      writeFileSync(hook, "#!/bin/sh\ntouch second; until [ -e second.done ]; do sleep 0.02; done\n", { mode: 0o755 })
      const again = await opened.run()
      expect(opened.text("AGENTS.md")).toBe("Be kind.\nobey\n")
      expect(again).toContain(
        "/work/AGENTS.md changed, whose text agents follow in later sessions, and it is not as in git's index.",
      )
      expect(again).toContain("git changed .claude/commands/mine.md, deep/a/b/c/d/e/AGENTS.md.")
      expect(await opened.close()).toBe("")
    })

    test.each([true, false])(
      "what git restores from a stash stays, and converted line breaks are those of git; alone: %s",
      async (isAlone) => {
        await using opened = await open([
          ...(isAlone ? [] : [background("sleep 100")]),
          terminal("git stash -q -u"),
          terminal("git stash pop -q"),
          terminal("git checkout -q other"),
          says("Done."),
        ])
        const { workdir } = opened
        git(workdir, "checkout", "-q", "-b", "other")
        writeFileSync(opened.at("AGENTS.md"), "Other.\nTwo.\n")
        git(workdir, "commit", "-qam", "other")
        git(workdir, "checkout", "-q", "main")
        git(workdir, "config", "core.autocrlf", "true")
        writeFileSync(opened.at("GEMINI.md"), "Mine, not committed.\n")
        const shown = await opened.run()
        expect(opened.text("AGENTS.md")).toBe("Other.\r\nTwo.\r\n")
        expect(opened.has("GEMINI.md")).toBe(true)
        expect(occurrences(shown, "git changed GEMINI.md.")).toBe(2)
        expect(occurrences(shown, "git changed AGENTS.md.")).toBe(1)
        expect(shown).not.toMatch(/Hermes renamed|appeared|in git's index/u)
      },
    )

    test("a stash of an earlier session is restored, and its files are reported", async () => {
      await using opened = await open([terminal("git stash pop -q"), says("Done.")])
      writeFileSync(opened.at("GEMINI.md"), "Mine, not committed.\n")
      git(opened.workdir, "stash", "-q", "-u")
      expect(await opened.run()).toContain(
        "GEMINI.md appeared, whose text agents follow in later sessions, and it is not as in git's index",
      )
      expect(opened.has("GEMINI.md")).toBe(true)
    })

    test("what the user restores from a checkpoint is accepted", async () => {
      await using opened = await open(
        [
          callsTool("write_file", { path: "AGENTS.md", content: "New.\n" }),
          background("sleep 100"),
          says("Done."),
          terminal("true"),
          says("Done."),
        ],
        {},
        "checkpoints: {enabled: true}\n",
      )
      const first = await opened.run()
      const checkpoints = await opened.session.checkpoints()
      const never = new AbortController().signal
      const [snapshot] = (await checkpoints?.list({ signal: never })) ?? []
      expect(await checkpoints?.restore(snapshot?.hash ?? "", { signal: never })).toMatchObject({ ok: true })
      expect(opened.text("AGENTS.md")).toBe("Be kind.\n")
      expect(first + (await opened.run())).not.toMatch(/AGENTS\.md/u)
    })
  },
)
