import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test, vi } from "vitest"

import { callsTool, says, stallsAfter } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { IDLE, modesLeftOn, openFullChat, startFullChat } from "./full-chat.ts"
import type { FullChat, FullChatOptions } from "./full-chat.ts"
import { NO_SANDBOX } from "./hermes-process.ts"
import { expectExited } from "./process-alive.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"

const HERMES = hermesCommand().join(" ")

/** An interactive shell with job control, as users have it. */
async function openShell(script: readonly ScriptEntry[], options: FullChatOptions = {}): Promise<FullChat> {
  const shell = await startFullChat(script, {
    ...options,
    command: "/bin/bash",
    args: ["--norc", "--noprofile", "-i"],
    env: { PS1: "sh> ", ...options.env },
  })
  await shell.waitForScreen(/^sh> /mu)
  return shell
}

async function pidIn(path: string): Promise<number> {
  const read = (): number => {
    const pid = Number(readFileSync(path, "utf8").trim())
    if (!(pid > 0)) throw new Error("not written yet")
    return pid
  }
  return await vi.waitFor(read, { timeout: 15_000 })
}

/** The Hermes process that the shell has started. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0])
}

/** The shell works: the terminal echoes, edits lines, and no mode of Hermes is on. */
async function expectUsableShell(chat: FullChat): Promise<void> {
  await vi.waitFor(() => expect(modesLeftOn(chat)).toEqual([]), { timeout: 5000 })
  chat.send("stty -a | grep -cE '[ ]icanon.* echo '; echo typed-$((1+1))")
  await chat.waitForScreen(/^typed-2/mu)
  expect(chat.everything()).toMatch(/sh> stty -a[^\n]*\n[1-9]\n/u)
}

async function startInShell(chat: FullChat, args = ""): Promise<void> {
  chat.send(`${HERMES} ${args}`)
  await chat.waitFor("What shall we work on?")
  await chat.waitForScreen(IDLE)
}

test("kill -9 of a tool and of Hermes: the terminal is usable, no process is left, and the session resumes", async () => {
  await using chat = await openShell(
    [
      callsTool("terminal", { command: "echo $$ > first.pid; sleep 300" }),
      callsTool("terminal", { command: "echo $$ > shell.pid; sleep 300" }),
      says("Resumed."),
    ],
    { settings: NO_SANDBOX },
  )
  await startInShell(chat)
  chat.send("run something long")
  process.kill(await pidIn(join(chat.home.workdir, "first.pid")), "SIGKILL")
  await chat.waitForScreen(/sleep 300.*\[exit /u)
  const tool = await pidIn(join(chat.home.workdir, "shell.pid"))
  chat.type("half a draft")
  await chat.waitForScreen(/^⚕ half a draft/mu)
  const pid = childOf(chat.pid)
  process.kill(pid, "SIGKILL")
  await chat.waitForScreen("Killed")
  await expectUsableShell(chat)
  await expectExited(tool)
  chat.send(`${HERMES} --continue`)
  await chat.waitForScreen(/Continuing \S+[^]*^❯ ?$/mu)
  chat.send("go on")
  await chat.waitFor("Resumed.")
  await chat.waitForScreen(IDLE)
  chat.send("/quit")
  await chat.waitForScreen(/--resume[^]*\nsh> $/u)
  await expectUsableShell(chat)
})

test("Ctrl+Z and fg while idle, during a reply, in a modal and during a tool", async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await openShell(
    [
      says(["Once upon", " a time."], stallsAfter({ deltas: 1 }, gate.promise)),
      callsTool("terminal", { command: "rm -r build" }),
      callsTool("terminal", { command: "until test -e go; do sleep 0.02; done" }),
      says("Finished."),
    ],
    { settings: NO_SANDBOX, workFiles: { "build/x": "x" } },
  )
  let stops = 0
  const stopAndContinue = async (shows: RegExp): Promise<void> => {
    stops += 1
    chat.press("ctrl+z")
    await chat.waitFor(new RegExp(`(?:Stopped[^]*){${stops}}`, "u"))
    await expectUsableShell(chat)
    chat.send("fg")
    await chat.waitForScreen(shows)
  }
  await startInShell(chat)
  await stopAndContinue(/^❯ ?$/mu)
  chat.send("tell a story")
  await chat.waitForScreen("Once upon")
  await stopAndContinue(/Once upon[^]*^⚕ ?$/mu)
  gate.resolve()
  await chat.waitForScreen("Once upon a time.")
  await chat.waitForScreen(IDLE)
  chat.send("clean up")
  await chat.waitForScreen("Esc denies")
  await stopAndContinue(/Esc denies/u)
  chat.press("escape")
  await chat.waitForScreen("until test")
  await stopAndContinue(/until test[^]*^⚕ ?$/mu)
  await writeFile(join(chat.home.workdir, "go"), "")
  await chat.waitFor("Finished.")
  await chat.waitForScreen(IDLE)
  chat.press("ctrl+d")
  await chat.waitForScreen(/--resume[^]*\nsh> $/u)
  expect(chat.everything().match(/What shall we work on/gu)).toHaveLength(1)
})

test("the window is closed during a tool", async () => {
  await using chat = await openFullChat([callsTool("terminal", { command: "echo $$ > shell.pid; sleep 300" })], {
    settings: NO_SANDBOX,
  })
  chat.send("run something long")
  const tool = await pidIn(join(chat.home.workdir, "shell.pid"))
  chat.closeWindow()
  expect(await chat.exit).toMatchObject({ code: 129 })
  await expectExited(tool)
  await expectExited(chat.pid)
})

test.each([
  { event: "SIGTERM", signal: "SIGTERM", code: 130, shows: "--resume" },
  {
    event: "an internal error",
    signal: "SIGUSR2",
    code: 1,
    shows: "Hermes stopped because of an internal error: boom",
  },
] as const)("the terminal is restored after $event during a tool", async ({ signal, code, shows }) => {
  const fault = `process.on("SIGUSR2",()=>{throw new Error("boom")})`
  await using chat = await openShell([callsTool("terminal", { command: "echo $$ > shell.pid; sleep 300" })], {
    settings: NO_SANDBOX,
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}` },
  })
  await startInShell(chat, "; echo code $?")
  chat.send("run something long")
  const tool = await pidIn(join(chat.home.workdir, "shell.pid"))
  process.kill(childOf(chat.pid), signal)
  await chat.waitForScreen(`code ${code}`)
  await expectUsableShell(chat)
  await expectExited(tool)
  expect(chat.everything()).toContain(shows)
  expect(chat.everything()).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/u)
})

test("Ctrl+C twice during a tool leaves", async () => {
  await using chat = await openShell(
    [callsTool("terminal", { command: "echo $$ > shell.pid; trap '' TERM; sleep 300" })],
    {
      settings: NO_SANDBOX,
    },
  )
  await startInShell(chat, "; echo code $?")
  chat.send("run something long")
  const tool = await pidIn(join(chat.home.workdir, "shell.pid"))
  chat.press("ctrl+c")
  chat.press("ctrl+c")
  await chat.waitForScreen(/code (?:0|130)/u)
  await expectUsableShell(chat)
  await expectExited(tool)
})
