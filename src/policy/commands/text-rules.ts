import type { Effect } from "./command-verdict.ts"
import { CODE, PRIVILEGES, SYSTEM } from "./command-rule.ts"
import { DEVICE, END, FLAGS, HOME, POSITION, QUOTE, RM, SPACE, caseSensitive, text } from "./text-patterns.ts"
import type { TextPattern } from "./text-patterns.ts"

/** A pattern over the text of a line, for commands that hide in arguments, here-documents and other programs. */
export interface TextRule {
  readonly key: string
  /** In lower case: every text that the rule matches contains one of them, so that most texts need no pattern. */
  readonly words: readonly string[]
  /** Each pattern matches somewhere after the previous one. */
  readonly patterns: readonly TextPattern[]
  /** Must not match in the same line of text. */
  readonly unless?: RegExp
  /** The programs that the rule is about: where the line runs one of them, the argv view has judged it. */
  readonly programs?: readonly string[]
  readonly effects: readonly Effect[]
}

export function matchesText(rule: TextRule, text: string): boolean {
  return matchesSearched(rule, searchedText(text))
}

/** A text with what its words are looked for in. */
export interface SearchedText {
  readonly text: string
  readonly lower: string
}

export function searchedText(text: string): SearchedText {
  return { text, lower: text.toLowerCase() }
}

export function matchesSearched(rule: TextRule, searched: SearchedText): boolean {
  // Runs for every rule, most of which do not match: no callback is created.
  for (const word of rule.words) if (searched.lower.includes(word)) return matchesPatterns(rule, searched.text)
  return false
}

export function matchesPatterns(rule: TextRule, text: string): boolean {
  if (rule.unless === undefined) return foundInOrder(text, rule.patterns)
  const { unless } = rule
  return text.split("\n").some((line) => foundInOrder(line, rule.patterns) && !unless.test(line))
}

function foundInOrder(text: string, patterns: readonly TextPattern[]): boolean {
  let remaining = text
  return patterns.every((pattern) => {
    const found = pattern.exec(remaining)
    if (found === null) return false
    remaining = remaining.slice(found.index + found[0].length)
    return true
  })
}

export const FORK_BOMB: TextRule = {
  key: "fork bomb",
  words: ["{"],
  patterns: [
    text(
      String.raw`([\w:.]{1,20})\s{0,20}\(\s{0,20}\)\s{0,20}\{\s{0,20}\1\s{0,20}\|\s{0,20}\1\s{0,20}&\s{0,20}\}\s{0,20}[;\n]\s{0,20}\1|function\s{1,20}([\w:.]{1,20})\s{0,20}(?:\(\s{0,20}\)\s{0,20})?\{\s{0,20}\2\s{0,20}\|\s{0,20}\2\s{0,20}&\s{0,20}\}`,
    ),
  ],
  effects: SYSTEM,
}

/** A function that starts itself in the background. */
export const SELF_STARTING_FUNCTION: TextRule = {
  key: "fork bomb",
  words: ["("],
  patterns: [
    text(
      String.raw`(?<![\w:.])([\w:.]{1,20})\s{0,20}\(\s{0,20}\)\s{0,20}[{(](?:[^{}]{0,200}[;&|\n])?\s{0,20}(?:do\s{1,9}|then\s{1,9})?\1(?![\w:.=-])[^{}&;\n]{0,80}&(?!&)`,
    ),
  ],
  effects: SYSTEM,
}

export const HARDLINE_TEXT: readonly TextRule[] = [
  {
    key: "recursive delete of root filesystem",
    words: ["rm"],
    patterns: [text(String.raw`${RM}${FLAGS}${SPACE}\/(?:\*|\s\*)?${END}`)],
    programs: ["rm"],
    effects: CODE,
  },
  {
    key: "recursive delete of system directory",
    words: ["rm"],
    patterns: [text(String.raw`${RM}${FLAGS}${SPACE}\/(?:home|root|etc|usr|var|bin|sbin|boot|lib)\/?\*?${END}`)],
    programs: ["rm"],
    effects: CODE,
  },
  {
    key: "recursive delete of home directory",
    words: ["rm"],
    patterns: [text(String.raw`${RM}${FLAGS}${SPACE}${HOME}\/?\*?${END}`)],
    programs: ["rm"],
    effects: CODE,
  },
  {
    key: "format filesystem (mkfs)",
    words: ["mkfs"],
    patterns: [text(String.raw`(?<![\w.-])mkfs(?:\.\w{1,20})?(?![\w-])`)],
    effects: CODE,
  },
  {
    key: "dd to raw block device",
    words: ["dd"],
    patterns: [text(String.raw`(?<![\w.-])dd\s`), text(String.raw`\bof=${QUOTE}${DEVICE}`)],
    programs: ["dd"],
    effects: CODE,
  },
  {
    key: "redirect to raw block device",
    words: [">"],
    patterns: [text(String.raw`>\|?\s{0,20}${QUOTE}${DEVICE}`)],
    effects: CODE,
  },
  {
    key: "kill all processes",
    words: ["kill"],
    patterns: [text(String.raw`(?<![\w.-])kill${FLAGS}${SPACE}-1${END}`)],
    programs: ["kill"],
    effects: CODE,
  },
  {
    key: "system shutdown/reboot",
    words: ["shutdown", "reboot", "halt", "poweroff"],
    patterns: [text(String.raw`${POSITION}(?:shutdown|reboot|halt|poweroff)(?![\w.:=\/-])`)],
    programs: ["shutdown", "reboot", "halt", "poweroff"],
    effects: CODE,
  },
  {
    key: "init/telinit 0|6",
    words: ["init"],
    patterns: [text(String.raw`${POSITION}(?:tel)?init${SPACE}[06]${END}`)],
    programs: ["init", "telinit"],
    effects: CODE,
  },
  {
    key: "systemctl poweroff/reboot",
    words: ["systemctl"],
    patterns: [text(String.raw`\bsystemctl${FLAGS}${SPACE}(?:poweroff|reboot|halt|kexec)\b`)],
    programs: ["systemctl"],
    effects: CODE,
  },
]

/** Only where the line was not understood: otherwise the options of sudo itself are known. */
export const SUDO_TEXT: readonly TextRule[] = [
  {
    key: "sudo with privilege flag (stdin/askpass/shell/list)",
    words: ["sudo"],
    patterns: [caseSensitive(String.raw`\bsudo${FLAGS}${SPACE}(?:-[SsAa](?=\s|$)|--(?:stdin|askpass|shell)\b)`)],
    effects: PRIVILEGES,
  },
  {
    key: "sudo with combined-flag privilege escalation",
    words: ["sudo"],
    patterns: [caseSensitive(String.raw`\bsudo${FLAGS}${SPACE}-[a-zA-Z]{0,8}[sSaA][a-zA-Z]{0,8}(?=\s|$)`)],
    effects: PRIVILEGES,
  },
]

export const SUDO_PASSWORD_TEXT: TextRule = {
  key: "sudo password from standard input",
  words: ["sudo"],
  patterns: [caseSensitive(String.raw`\bsudo${FLAGS}${SPACE}(?:-[a-zA-Z]{0,8}S[a-zA-Z]{0,8}(?=\s|$)|--stdin\b)`)],
  effects: PRIVILEGES,
}
