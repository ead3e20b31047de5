import { expect } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome, TemporaryHomeOptions } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { TerminalOptions, VirtualTerminal } from "../support/virtual-terminal.ts"
import { settingsFor } from "./hermes-process.ts"

export interface FullChatOptions extends Omit<TemporaryHomeOptions, "config"> {
  /** More YAML for the settings. */
  readonly settings?: string
  readonly args?: readonly string[]
  readonly columns?: number
  readonly rows?: number
  /** Instead of Hermes itself, for example a shell. */
  readonly command?: TerminalOptions["command"]
}

/** The built command with its full UI, in a terminal, with a scripted model. */
export interface FullChat extends VirtualTerminal {
  readonly model: ModelServer
  readonly home: TemporaryHome
  /** Types the text and presses Enter. */
  send(text: string): void
  /** Waits until the visible screen shows it. */
  waitForScreen(pattern: RegExp | string): Promise<void>
  /** Waits until the visible screen does not show it. */
  waitUntilGone(pattern: RegExp | string): Promise<void>
  /** The scrollback and the screen. */
  everything(): string
}

/** The editor is empty, and nothing runs. */
export const IDLE = /^❯ ?$/mu

/** The editor is empty, and a turn runs. */
export const BUSY = /^⚕ ?$/mu

/** Starts Hermes and waits until a conversation is open. */
export async function openFullChat(script: readonly ScriptEntry[], options: FullChatOptions = {}): Promise<FullChat> {
  const chat = await startFullChat(script, options)
  await chat.waitFor("What shall we work on?")
  await chat.waitForScreen(IDLE)
  return chat
}

/** Starts Hermes, or the given command, without waiting for anything. */
export async function startFullChat(script: readonly ScriptEntry[], options: FullChatOptions = {}): Promise<FullChat> {
  const { settings, args = [], columns = 80, rows = 24, command, ...homeOptions } = options
  const model = await startModelServer(script)
  const home = await temporaryHome({ ...homeOptions, config: settingsFor(model, settings) })
  const terminal = await openFullTerminal(home, { args, columns, rows, ...(command === undefined ? {} : { command }) })
  return fullChat(terminal, { model, home, owned: [home, model] })
}

/** Opens another terminal on the home of a conversation. */
export async function reopen(
  { model, home }: Pick<FullChat, "model" | "home">,
  options: Pick<FullChatOptions, "args" | "columns" | "rows" | "command" | "env"> = {},
): Promise<FullChat> {
  return fullChat(await openFullTerminal(home, options), { model, home, owned: [] })
}

async function openFullTerminal(
  home: TemporaryHome,
  { args = [], columns = 80, rows = 24, command = hermesCommand(), env = {} }: FullChatOptions,
): Promise<VirtualTerminal> {
  const { HERMES_TUI: _lineMode, ...rest } = home.env
  return await openTerminal({ command, args, env: { ...rest, ...EMULATOR, ...env }, cwd: home.workdir, columns, rows })
}

function fullChat(
  terminal: VirtualTerminal,
  { model, home, owned }: Pick<FullChat, "model" | "home"> & { readonly owned: readonly AsyncDisposable[] },
): FullChat {
  const visible = (): string => terminal.screen().join("\n")
  return {
    model,
    home,
    pid: terminal.pid,
    get output() {
      return terminal.output
    },
    exit: terminal.exit,
    type: (text) => terminal.type(text),
    press: (key) => terminal.press(key),
    paste: (text) => terminal.paste(text),
    resize: (columns, rows) => terminal.resize(columns, rows),
    waitFor: (pattern, options) => terminal.waitFor(pattern, options),
    screen: () => terminal.screen(),
    scrollback: () => terminal.scrollback(),
    cursor: () => terminal.cursor(),
    signal: (name) => terminal.signal(name),
    closeWindow: () => terminal.closeWindow(),
    send: (text) => {
      terminal.type(text)
      terminal.press("enter")
    },
    waitForScreen: async (pattern) => {
      await expect.poll(visible, { timeout: WAIT_MS, interval: POLL_MS }).toMatch(pattern)
    },
    waitUntilGone: async (pattern) => {
      await expect.poll(visible, { timeout: WAIT_MS, interval: POLL_MS }).not.toMatch(pattern)
    },
    everything: () => [...terminal.scrollback(), ...terminal.screen()].join("\n"),
    [Symbol.asyncDispose]: async () => {
      await terminal[Symbol.asyncDispose]()
      for (const resource of owned) await resource[Symbol.asyncDispose]()
      // Neither the screen nor the scrollback is ever cleared, and the screen is the main one.
      expect(terminal.output).not.toMatch(CLEARED)
    },
  }
}

/** The emulator is the one of this program, and reflows as it does. */
const EMULATOR = { TERM_PROGRAM: "vscode" }

const WAIT_MS = 15_000
const POLL_MS = 10

// eslint-disable-next-line no-control-regex -- control sequences are what this looks for
const CLEARED = /\u001B\[[23]J|\u001Bc|\u001B\[\?(?:1049|1047|47)h/u

/** The screen with what differs between two runs replaced: paths, ids, durations, versions. */
export function normalised(chat: FullChat): string {
  return chat
    .screen()
    .map((row) => row.trimEnd())
    .join("\n")
    .replaceAll(chat.home.workdir, "WORKDIR")
    .replaceAll(/WORKDIR ─+/gu, "WORKDIR ")
    .replaceAll(/\b[0-9a-f]{8}\b/gu, "HASH")
    .replaceAll(/\d{8}_\d{6}_[0-9a-f]+/gu, "SESSION")
    .replaceAll(/\b\d+(?:\.\d+)?(?: ?ms| ?s)\b/gu, "1s")
    .replaceAll(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/gu, "⠋")
    .replaceAll(/Hermes \d[\w.-]*/gu, "Hermes VERSION")
}

/** The text of the last message in a request. */
export function lastMessage(model: ModelServer, request: number): string | undefined {
  return model.view(request).messages.at(-1)?.text
}

/**
 * Answers a modal. It ignores keys for a moment after it appears, because they may be part of a message, and the terminal does not show
 * when that ends; so this waits as long.
 */
export async function decide(chat: FullChat, keys: string, gone: string | undefined): Promise<void> {
  await systemClock.sleep(TYPING_GUARD_MS, { signal: AbortSignal.timeout(WAIT_MS) })
  chat.type(keys)
  if (gone !== undefined) await chat.waitUntilGone(gone)
}

/** Selects an answer and gives it. An Enter that follows at once would count as typed text. */
export async function choose(chat: FullChat, key: string, gone: string): Promise<void> {
  await decide(chat, key, undefined)
  await decide(chat, "\r", gone)
}

const TYPING_GUARD_MS = 320

/** The modes of the terminal that Hermes has turned on and not off again. */
export function modesLeftOn({ output }: Pick<FullChat, "output">): readonly string[] {
  const isOn = (on: string, off: string): boolean => output.lastIndexOf(on) > output.lastIndexOf(off)
  return [
    ...(isOn("\u001B[?1004h", "\u001B[?1004l") ? ["focus reports"] : []),
    ...(isOn("\u001B[>1u", "\u001B[<u") ? ["keyboard protocol"] : []),
    ...(isOn("\u001B[?25l", "\u001B[?25h") ? ["hidden cursor"] : []),
    ...(isOn("\u001B[?2026h", "\u001B[?2026l") ? ["held output"] : []),
    // A shell turns it on for its own prompt.
    ...(isOn("\u001B[?2004h", "\u001B[?2004l") && !output.includes("sh> ") ? ["bracketed paste"] : []),
  ]
}
