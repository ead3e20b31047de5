import { assertNever } from "../base/assert-never.ts"
import { nearest } from "../base/nearest-name.ts"
import type { SettingValue } from "../config/settings.ts"
import type { DisplayKey } from "./display-control.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/redraw`: draws the screen again, after another program has written to it. */
export const redrawCommand: SlashCommand = {
  name: "redraw",
  category: "display",
  help: "draw the screen again",
  run: () => Promise.resolve({ kind: "redraw" }),
}

/** `/verbose`: which tool calls are shown. */
export const verboseCommand: SlashCommand = {
  name: "verbose",
  category: "display",
  help: "show fewer or more tool calls: the next of off, new, all, verbose",
  argument: "[off | new | all | verbose]",
  run: async (argument, context) => {
    const word = argument.trim().toLowerCase()
    const current = valueOf("display.tool_progress", context)
    const next = PROGRESS[(PROGRESS.indexOf(current) + 1) % PROGRESS.length]
    const mode = word === "" ? next : PROGRESS.find((name) => name === word)
    if (mode === undefined) return reply(`Usage: /verbose, or /verbose with one of ${PROGRESS.join(", ")}.`)
    return reply(await changeDisplay("display.tool_progress", mode, context, `Tool calls: ${PROGRESS_TEXT[mode]}`))
  },
}

const PROGRESS = ["off", "new", "all", "verbose"] as const
const PROGRESS_TEXT = {
  off: "not shown",
  new: "shown when the tool changes",
  all: "all shown",
  verbose: "all shown, with arguments and results",
} as const

/** `/details`: how much of the work is shown, by section. */
export const detailsCommand: SlashCommand = {
  name: "details",
  category: "display",
  help: "show how much of the model's work is displayed, or change it",
  argument: "[MODE | thinking MODE | tools MODE | subagents MODE | activity MODE]",
  details:
    "MODE is hidden, collapsed, expanded or reset. Reasoning is shown or hidden; tools show none, all, or all with arguments and results; activity lists background processes.",
  run: changeDetails,
}

const DETAIL_MODES = ["hidden", "collapsed", "expanded", "reset"] as const
type DetailMode = (typeof DETAIL_MODES)[number]

const SECTIONS = ["thinking", "tools", "subagents", "activity"] as const
type Section = (typeof SECTIONS)[number]

async function changeDetails(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const [first = "", second = "", ...others] = argument
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "")
  if (first === "") return reply(SECTIONS.map((each) => `${each.padEnd(11)}${sectionText(each, context)}`).join("\n"))
  const section = SECTIONS.find((name) => name === first)
  const mode = DETAIL_MODES.find((name) => name === (section === undefined ? first : second))
  const isComplete = others.length === 0 && (section !== undefined || second === "")
  if (mode === undefined || !isComplete)
    return reply(
      `Usage: /details MODE, or /details SECTION MODE. SECTION is one of ${SECTIONS.join(", ")}; MODE is hidden, collapsed, expanded or reset.`,
    )
  const lines: string[] = []
  for (const each of section === undefined ? SECTIONS : [section]) lines.push(await changeSection(each, mode, context))
  return reply(lines.join("\n"))
}

function sectionText(section: Section, context: SlashContext): string {
  switch (section) {
    case "thinking":
      return valueOf("display.show_reasoning", context) ? "expanded" : "hidden"
    case "tools":
      return PROGRESS_MODE[valueOf("display.tool_progress", context)]
    case "subagents":
    case "activity": {
      return effectiveMode(valueOf(`display.sections.${section}`, context), context)
    }
    default:
      return assertNever(section)
  }
}

function effectiveMode(mode: SettingValue<"display.sections.subagents">, { app }: SlashContext): string {
  return mode === "inherit" ? app.config.get("display.details_mode") : mode
}

/** The word of `/details` for each value. */
const PROGRESS_MODE = { off: "hidden", new: "collapsed", all: "collapsed", verbose: "expanded" } as const

async function changeSection(section: Section, mode: DetailMode, context: SlashContext): Promise<string> {
  switch (section) {
    case "thinking": {
      const isShown = mode === "expanded"
      const done = `Reasoning: ${isShown ? "expanded" : "hidden"}`
      return await changeDisplay("display.show_reasoning", isShown, context, done)
    }
    case "tools": {
      const progress = progressOf(mode)
      return await changeDisplay("display.tool_progress", progress, context, `Tool calls: ${PROGRESS_MODE[progress]}`)
    }
    case "subagents": {
      const value = mode === "reset" ? "inherit" : mode
      return await changeDisplay(
        "display.sections.subagents",
        value,
        context,
        `Sub-agents: ${effectiveMode(value, context)}`,
      )
    }
    case "activity": {
      const value = mode === "reset" ? "hidden" : mode
      return await changeDisplay("display.sections.activity", value, context, `Background processes: ${value}`)
    }
    default:
      return assertNever(section)
  }
}

function progressOf(mode: DetailMode): (typeof PROGRESS)[number] {
  switch (mode) {
    case "hidden":
      return "off"
    case "collapsed":
    case "reset":
      return "all"
    case "expanded":
      return "verbose"
    default:
      return assertNever(mode)
  }
}

/** `/statusbar`: shows or hides the status bar. */
export const statusBarCommand: SlashCommand = {
  name: "statusbar",
  aliases: ["sb"],
  category: "display",
  help: "show or hide the status bar",
  argument: "[on | off]",
  run: async (argument, context) => {
    const word = argument.trim().toLowerCase()
    if (!["", "on", "off"].includes(word)) return reply("Usage: /statusbar, /statusbar on, /statusbar off.")
    const isShown = word === "" ? !valueOf("display.status_bar", context) : word === "on"
    return reply(
      await changeDisplay("display.status_bar", isShown, context, `The status bar is ${isShown ? "shown" : "hidden"}`),
    )
  },
}

/** `/mouse`: the full UI requests no mouse reports (decision 73), so there is nothing to switch. */
export const mouseCommand: SlashCommand = {
  name: "mouse",
  category: "display",
  help: "say how the mouse works",
  run: () =>
    Promise.resolve(
      reply(
        "Hermes leaves the mouse to your terminal: selecting text, the wheel and links work as in your shell. Everything in Hermes has a key; /help lists the commands.",
      ),
    ),
}

/** `/indicator`: what is shown while the model works. */
export const indicatorCommand: SlashCommand = {
  name: "indicator",
  category: "display",
  help: "choose the busy indicator: the next of kaomoji, emoji, unicode, ascii",
  argument: "[kaomoji | emoji | unicode | ascii]",
  run: async (argument, context) => {
    const word = argument.trim().toLowerCase()
    const current = valueOf("display.tui_status_indicator", context)
    const next = INDICATORS[(INDICATORS.indexOf(current) + 1) % INDICATORS.length]
    const style = word === "" ? next : INDICATORS.find((name) => name === word)
    if (style === undefined) return reply(`Usage: /indicator with one of ${INDICATORS.join(", ")}.`)
    return reply(await changeDisplay("display.tui_status_indicator", style, context, `Busy indicator: ${style}`))
  },
}

const INDICATORS = ["kaomoji", "emoji", "unicode", "ascii"] as const

/** `/busy`: what a message does that is sent during a reply. */
export const busyCommand: SlashCommand = {
  name: "busy",
  category: "display",
  help: "show or choose what a message does that you send during a reply",
  argument: "[interrupt | queue | steer]",
  run: async (argument, context) => {
    const word = argument.trim().toLowerCase()
    const current = valueOf("display.busy_input_mode", context)
    if (word === "") return reply(`A message that you send during a reply ${BUSY_TEXT[current]}.`)
    const mode = BUSY_MODES.find((name) => name === word)
    if (mode === undefined) return reply(`Usage: /busy with one of ${BUSY_MODES.join(", ")}.`)
    return reply(
      await changeDisplay(
        "display.busy_input_mode",
        mode,
        context,
        `A message that you send during a reply ${BUSY_TEXT[mode]}`,
      ),
    )
  },
}

const BUSY_MODES = ["interrupt", "queue", "steer"] as const
const BUSY_TEXT = {
  interrupt: "interrupts it",
  queue: "is sent after it",
  steer: "is added to the running turn",
} as const

/** `/skin`: colours and symbols. */
export const skinCommand: SlashCommand = {
  name: "skin",
  category: "display",
  help: "show or choose the colours and symbols of the full UI",
  argument: "[NAME]",
  completes: "skin",
  run: showOrChooseSkin,
}

async function showOrChooseSkin(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { display, pick } = context
  const name = argument.trim()
  const current = valueOf("display.skin", context)
  const skins = display?.skins?.() ?? []
  if (name === "" && pick !== undefined && skins.length > 0) {
    const { skinList } = await import("./lists/skin-list.ts")
    const picked = await pick(skinList({ skins, current, show: (shown) => display?.previewSkin?.(shown) }))
    return picked === undefined || picked.value === current ? NOTHING_CHOSEN : await useSkin(picked.value, context)
  }
  if (name === "")
    return reply([`Skin: ${current}`, ...skins.map((skin) => `  ${skin.name}  ${skin.description}`)].join("\n"))
  const known = skins.map((skin) => skin.name)
  if (display !== undefined && !known.includes(name)) {
    const closest = nearest(name, known)
    return reply(
      `There is no skin ${name}.${closest === undefined ? "" : ` Did you mean ${closest}?`} /skin lists them.`,
    )
  }
  return await useSkin(name, context)
}

async function useSkin(name: string, context: SlashContext): Promise<SlashOutcome> {
  return reply(await changeDisplay("display.skin", name, context, `Skin: ${name}`))
}

function valueOf<K extends DisplayKey>(key: K, { display, app }: SlashContext): SettingValue<K> {
  return display?.get(key) ?? app.config.get(key)
}

/** Changes the display at once where that is possible, and saves the setting. Returns what to tell the user. */
export async function changeDisplay<K extends DisplayKey>(
  key: K,
  value: SettingValue<K>,
  context: SlashContext,
  done: string,
): Promise<string> {
  const { saveSetting } = await import("./save-setting.ts")
  context.display?.set(key, value)
  const problem = await saveSetting(key, String(value), context)
  if (problem !== undefined) return `${done}. ${problem}`
  return context.display === undefined ? `${done}, from the next start on.` : `${done}.`
}
