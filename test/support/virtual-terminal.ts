import type { Socket } from "node:net"

import * as pty from "@lydell/node-pty"
import xterm from "@xterm/headless"
import type { Terminal } from "@xterm/headless"

import { errorCode } from "../../src/base/system-error.ts"

export interface TerminalOptions {
  /** A program, or a program with its first arguments, such as `hermesCommand()` returns. */
  readonly command: string | readonly [string, ...string[]]
  readonly args?: readonly string[]
  /** The complete environment, except that TERM becomes `xterm-256color`. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly columns?: number
  readonly rows?: number
}

export interface VirtualTerminal extends AsyncDisposable {
  readonly pid: number
  /** Everything the program printed, including escape sequences. */
  readonly output: string
  /** Settles when the program has exited and the screen shows all of its output. */
  readonly exit: Promise<TerminalExit>
  /** Sends the text unchanged, as typed. */
  type(text: string): void
  press(key: KeyName): void
  /** Sends the text as a bracketed paste. */
  paste(text: string): void
  resize(columns: number, rows: number): void
  /** Waits until the screen or the scrollback shows it. Rejects with the screen at the time limit. */
  waitFor(pattern: RegExp | string, options?: { readonly timeoutMs?: number }): Promise<void>
  /** The visible lines, without trailing blanks. */
  screen(): readonly string[]
  /** The lines above the screen. */
  scrollback(): readonly string[]
  cursor(): { readonly column: number; readonly row: number }
  /** Signals only the program, not its group, as `kill PID` does. */
  signal(name: NodeJS.Signals): void
  /** Closes the terminal, as closing its window does: the kernel sends SIGHUP, and reading and writing fail. */
  closeWindow(): void
}

export interface TerminalExit {
  readonly code: number
  /** The number of the signal that killed the program, or 0. */
  readonly signal: number
}

const KEYS = {
  enter: "\r",
  "shift+enter": "\u001B[13;2u",
  "alt+enter": "\u001B\r",
  tab: "\t",
  "shift+tab": "\u001B[Z",
  escape: "\u001B",
  backspace: "\u007F",
  delete: "\u001B[3~",
  space: " ",
  up: "\u001B[A",
  down: "\u001B[B",
  right: "\u001B[C",
  left: "\u001B[D",
  home: "\u001B[H",
  end: "\u001B[F",
  pageup: "\u001B[5~",
  pagedown: "\u001B[6~",
} as const

/** `ctrl+` and `alt+` take one letter. */
export type KeyName = keyof typeof KEYS | `ctrl+${string}` | `alt+${string}`

const DEFAULT_TIMEOUT_MS = 15_000

/** Starts a command in a pseudo-terminal and renders its output to a screen. */
export async function openTerminal(options: TerminalOptions): Promise<VirtualTerminal> {
  const [command, ...firstArgs] = typeof options.command === "string" ? [options.command] : options.command
  const columns = options.columns ?? 100
  const rows = options.rows ?? 30
  const screen = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true })
  const child = pty.spawn(command, [...firstArgs, ...(options.args ?? [])], {
    name: "xterm-256color",
    cols: columns,
    rows,
    env: { ...options.env, TERM: "xterm-256color" },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })
  return new PtyTerminal(child, screen)
}

class PtyTerminal implements VirtualTerminal {
  output = ""
  readonly exit: Promise<TerminalExit>
  readonly #child: pty.IPty
  readonly #screen: Terminal
  readonly #watchers = new Set<() => void>()
  /** The program has exited and reads no more input. */
  #exited = false
  /** The screen shows all output of the exited program. */
  #rendered = false

  constructor(child: pty.IPty, screen: Terminal) {
    this.#child = child
    this.#screen = screen
    child.onData((data) => {
      this.output += data
      screen.write(data, () => this.#notify())
    })
    // Responses to terminal queries, such as the cursor position and device attributes.
    screen.onData((response) => this.type(response))
    const { promise, resolve } = Promise.withResolvers<TerminalExit>()
    child.onExit(({ exitCode, signal }) => {
      this.#exited = true
      screen.write("", () => {
        this.#rendered = true
        resolve({ code: exitCode, signal: signal ?? 0 })
        this.#notify()
      })
    })
    this.exit = promise
  }

  get pid(): number {
    return this.#child.pid
  }

  type(text: string): void {
    if (!this.#exited) this.#child.write(text)
  }

  press(key: KeyName): void {
    this.type(keySequence(key))
  }

  paste(text: string): void {
    this.type(`\u001B[200~${text}\u001B[201~`)
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows)
    this.#child.resize(columns, rows)
  }

  async waitFor(pattern: RegExp | string, options: { readonly timeoutMs?: number } = {}): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const fail = (problem: string) =>
      reject(new Error(`${problem} ${pattern}. The screen:\n${this.screen().join("\n")}`))
    const check = () => {
      if (shows([...this.scrollback(), ...this.screen()].join("\n"), pattern)) resolve()
      else if (this.#rendered) fail("the program exited without showing")
    }
    const timer = setTimeout(() => fail("the screen does not show"), options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
    this.#watchers.add(check)
    check()
    try {
      await promise
    } finally {
      clearTimeout(timer)
      this.#watchers.delete(check)
    }
  }

  screen(): readonly string[] {
    const { baseY } = this.#screen.buffer.active
    const lines = this.#lines(baseY, baseY + this.#screen.rows)
    return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1)
  }

  scrollback(): readonly string[] {
    return this.#lines(0, this.#screen.buffer.active.baseY)
  }

  cursor(): { readonly column: number; readonly row: number } {
    const { cursorX, cursorY } = this.#screen.buffer.active
    return { column: cursorX, row: cursorY }
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#exited) this.#child.kill(name)
  }

  closeWindow(): void {
    this.#exited = true
    // The type of node-pty lacks its own method for this; without it the descriptor stays open until the program exits.
    const { _socket: socket } = this.#child as unknown as { readonly _socket: Socket }
    socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    killSession(this.#child.pid)
    await this.exit
    this.#screen.dispose()
  }

  #lines(from: number, to: number): string[] {
    const { active } = this.#screen.buffer
    return Array.from(
      { length: to - from },
      (_, offset) => active.getLine(from + offset)?.translateToString(true) ?? "",
    )
  }

  #notify(): void {
    for (const watcher of this.#watchers) watcher()
  }
}

function keySequence(key: KeyName): string {
  if (key in KEYS) return KEYS[key as keyof typeof KEYS]
  const [modifier, letter] = /^(ctrl|alt)\+([a-z])$/.exec(key)?.slice(1) ?? []
  if (letter === undefined) throw new Error(`there is no key called ${key}`)
  return modifier === "alt" ? `\u001B${letter}` : String.fromCharCode(letter.charCodeAt(0) & 0x1f)
}

function shows(text: string, pattern: RegExp | string): boolean {
  return typeof pattern === "string" ? text.includes(pattern) : text.search(pattern) !== -1
}

/** The program is the session leader of its terminal, so its process group includes its children. */
function killSession(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL")
  } catch (error) {
    // The program has exited already.
    if (errorCode(error) !== "ESRCH") throw error
  }
}
