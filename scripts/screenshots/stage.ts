import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

import { startModelServer } from "../../test/support/model-server/server.ts"
import type { ScriptEntry } from "../../test/support/model-server/turn.ts"
import { hermesCommand } from "../../test/support/process-driver.ts"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../test/support/temporary-home.ts"
import { openTerminal } from "../../test/support/virtual-terminal.ts"
import type { KeyName } from "../../test/support/virtual-terminal.ts"
import { normaliseRow } from "./normalise-row.ts"
import type { Replacement } from "./normalise-row.ts"
import type { Palette } from "./palette.ts"
import { openReplay } from "./screen-rows.ts"
import type { Screen } from "./screen-rows.ts"
import type { Frame } from "./svg-recording.ts"

export interface StageOptions {
  /** What the scripted model answers. Without it there are no settings, as for a new user. */
  readonly script?: readonly ScriptEntry[]
  /** More YAML for the settings. */
  readonly settings?: string
  readonly env?: Readonly<Record<string, string>>
  /** The project, by relative path. */
  readonly files: Readonly<Record<string, string>>
  readonly columns: number
  readonly rows: number
  readonly palette: Palette
  /** Begins at the prompt of a shell instead of in Hermes. */
  readonly startsInShell: boolean
}

/** The built command in a terminal, with a home and a project `~/garden` of its own. */
export interface Stage extends AsyncDisposable {
  /** The directory of the project. */
  readonly directory: string
  type(text: string): void
  /** One key after the other, as a user types. */
  typeSlowly(text: string): Promise<void>
  press(key: KeyName): void
  /** Waits until the visible screen shows it. */
  waitFor(pattern: RegExp | string): Promise<void>
  pause(milliseconds: number): Promise<void>
  picture(): Promise<Screen>
  /** What the screen showed, in steps of at least `stepMs`. */
  film(options: { readonly stepMs: number }): Promise<readonly Frame[]>
}

export const SHELL_PROMPT = "~/garden $ "

const WAIT_MS = 20_000
const POLL_MS = 10
const KEY_MS = 55

export async function openStage(options: StageOptions): Promise<Stage> {
  const { columns, rows, palette, script } = options
  await using cleanUp = new AsyncDisposableStack()
  const model = script === undefined ? undefined : cleanUp.use(await startModelServer(script))
  const config = model === undefined ? {} : { config: settings(`${model.url}/v1`, options.settings ?? "") }
  const home = cleanUp.use(await temporaryHome(config))
  const directory = writeProject(home, options.files)
  const terminal = cleanUp.use(
    await openTerminal({
      command: options.startsInShell ? "/bin/sh" : hermesCommand(),
      env: {
        ...environmentOf(home),
        COLORTERM: "truecolor",
        HERMES_TUI_THEME: palette.background,
        ...options.env,
      },
      cwd: directory,
      columns,
      rows,
    }),
  )
  /** When the output had which length. */
  const marks: { readonly at: number; readonly length: number }[] = []
  const marker = setInterval(() => {
    const { length } = terminal.output
    if (length !== marks.at(-1)?.length) marks.push({ at: performance.now(), length })
  }, POLL_MS)
  cleanUp.defer(() => clearInterval(marker))
  const replacements = replacementsFor(home)
  const normalised = (screen: Screen, more: readonly Replacement[] = []): Screen => ({
    ...screen,
    rows: screen.rows.map((row) => normaliseRow(row, [...replacements, ...more])),
  })
  const owned = cleanUp.move()
  return {
    directory,
    type: (text) => terminal.type(text),
    typeSlowly: async (text) => {
      for (const character of text) {
        terminal.type(character)
        await sleep(KEY_MS)
      }
    },
    press: (key) => terminal.press(key),
    waitFor: async (pattern) => {
      const giveUpAt = performance.now() + WAIT_MS
      while (!shows(terminal.screen().join("\n"), pattern)) {
        if (performance.now() > giveUpAt)
          throw new Error(`the screen does not show ${pattern}:\n${terminal.screen().join("\n")}`)
        await sleep(POLL_MS)
      }
    },
    pause: async (milliseconds) => {
      await sleep(milliseconds)
    },
    picture: async () => {
      using replay = openReplay({ columns, rows, palette })
      await replay.write(terminal.output)
      return normalised(replay.screen(), DURATIONS)
    },
    film: async ({ stepMs }) => {
      using replay = openReplay({ columns, rows, palette })
      const frames: Frame[] = []
      let written = 0
      for (const [index, { at, length }] of marks.entries()) {
        const isSoonFollowed = (marks[index + 1]?.at ?? Infinity) - at < stepMs
        const isLate = at - (frames.at(-1)?.at ?? -Infinity) >= stepMs
        if (isSoonFollowed && !isLate) continue
        await replay.write(terminal.output.slice(written, length))
        written = length
        frames.push({ at, screen: normalised(replay.screen()) })
      }
      return frames
    },
    [Symbol.asyncDispose]: async () => {
      await owned.disposeAsync()
    },
  }
}

/** Title generation is off, so that a script contains only the turns of the conversation. */
function settings(address: string, more: string): string {
  const model = `model:\n  base_url: ${address}\n  default: scripted-model\n  context_length: 128000\n`
  return `${model}${more}auxiliary:\n  title_generation:\n    provider: none\n`
}

function writeProject(home: TemporaryHome, files: Readonly<Record<string, string>>): string {
  const directory = join(home.userHome, "garden")
  for (const [age, [name, text]] of Object.entries(files).entries()) {
    const file = join(directory, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    // Files are listed newest first, so they need different times.
    utimesSync(file, 1_700_000_000 - age, 1_700_000_000 - age)
  }
  return directory
}

function environmentOf(home: TemporaryHome): Readonly<Record<string, string>> {
  const bin = join(home.userHome, "bin")
  mkdirSync(bin)
  symlinkSync(hermesCommand()[1], join(bin, "hermes"))
  const { HERMES_TUI: _lineMode, ...env } = home.env
  return { ...env, PATH: `${bin}${delimiter}${env["PATH"]}`, PS1: SHELL_PROMPT }
}

/** Paths, ids and times, so that two runs give the same picture. */
function replacementsFor(home: TemporaryHome): readonly Replacement[] {
  return [
    { pattern: new RegExp(RegExp.escape(home.userHome), "u"), text: "~" },
    { pattern: /\b\d{8}_\d{6}_[0-9a-f]{6}\b/u, text: "20261116_091500_3e52f2" },
    { pattern: /(?<=\s)[0-9a-f]{8}(?=\s|$|\.)/u, text: numbered(["4f2a91c7", "b06d83e5", "2c95e1f0"]) },
  ]
}

/** The first text found becomes the first of these, and so on. */
function numbered(texts: readonly string[]): (found: string) => string {
  const known = new Map<string, string>()
  return (found) => {
    const text = known.get(found) ?? texts[known.size] ?? found
    known.set(found, text)
    return text
  }
}

const DURATIONS: readonly Replacement[] = [
  { pattern: /(?<=^(?:┊|[├└]─) )[\u2800-\u28FF]/u, text: "⠋" },
  { pattern: /(?<=^┊ ⠋ .* )\d+\.\ds(?= *$)/u, text: "2.4s" },
  { pattern: /(?<=^┊ [^⠋].* )\d+\.\ds(?= |$)/u, text: "0.1s" },
  { pattern: /(?<=^ ⚕ .* [│·] )\d+s(?= )/u, text: "8s" },
  { pattern: /(?<=⏱ )\d+s/u, text: "3s" },
]

function shows(text: string, pattern: RegExp | string): boolean {
  return typeof pattern === "string" ? text.includes(pattern) : pattern.test(text)
}
