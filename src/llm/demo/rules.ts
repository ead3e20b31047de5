import {
  NOTE_PATH,
  appendToPath,
  askUser,
  deletePath,
  findFiles,
  listFiles,
  makeTodoList,
  readPath,
  recall,
  remember,
  replaceInPath,
  runCommand,
  searchText,
  writePath,
} from "./actions.ts"
import { HOW_TO_CONNECT, GREETING, HELP } from "./introduction.ts"
import type { Step } from "./plan.ts"

/** One kind of request that the demo recognises. The first matching rule of the table is used. */
export interface Rule {
  readonly name: string
  readonly patterns: readonly RegExp[]
  /** Undefined when the pattern matches but the meaning does not; then the next rule is tried. */
  readonly plan: (captures: Captures, context: RuleContext) => StepsResult | AnswerResult | undefined
}

/** The named groups of the pattern, without their quotes. */
export type Captures = Readonly<Record<string, string | undefined>>

export interface RuleContext {
  /** What "it" refers to. */
  readonly lastPath: string | undefined
  readonly tools: ReadonlySet<string>
}

interface StepsResult {
  readonly kind: "steps"
  readonly steps: readonly Step[]
  readonly path?: string
}

interface AnswerResult {
  readonly kind: "answer"
  readonly text: string
}

const QUOTED = String.raw`"[^"]+"|'[^']+'|\x60[^\x60]+\x60|“[^”]+”`
const PATH = String.raw`(?<path>${QUOTED}|[^\s,;]+)`
const text = (name: string): string => String.raw`(?<${name}>${QUOTED}|[\s\S]+?)`
const rule = (...sources: readonly string[]): readonly RegExp[] =>
  sources.map((source) => new RegExp(`^(?:${source})$`, "iu"))

export const RULES: readonly Rule[] = [
  {
    name: "greeting",
    patterns: rule(
      String.raw`(?:hi|hello|hey|good (?:morning|afternoon|evening)|hallo|moin|servus|guten (?:tag|morgen|abend)|hola|buenos días|buenas)(?:[\s,]+(?:there|hermes|demo))?`,
    ),
    plan: () => answer(GREETING),
  },
  {
    name: "connect a model",
    patterns: rule(
      String.raw`how (?:do|can) i (?:connect|use|add|set ?up|configure) (?:a |an |my |another )?(?:real |other )?(?:model|ai|llm|key|api key|provider)\b.*`,
      String.raw`.*\bapi key\b.*`,
    ),
    plan: () => answer(HOW_TO_CONNECT),
  },
  {
    name: "help",
    patterns: rule(
      String.raw`/?help(?: me)?|what can you do.*|what can i (?:do|ask|say).*|how do(?:es)? (?:i|you|this|it) (?:work|use).*|how does this work`,
      String.raw`who are you|what (?:are you|is this)|are you (?:a real |an? )?(?:ai|model|human|person).*`,
      String.raw`hilfe|was kannst du.*|wer bist du|ayuda|qué puedes hacer.*|quién eres`,
    ),
    plan: () => answer(HELP),
  },
  {
    name: "thanks",
    patterns: rule(String.raw`(?:thanks|thank you|danke|gracias|bye|goodbye|tschüss|adiós)\b.{0,20}`),
    plan: () => answer("You are welcome."),
  },
  {
    name: "remember",
    patterns: rule(
      String.raw`(?:please )?(?:remember|memori[sz]e|keep in mind|note|merke? dir|recuerda)(?:,? that|,? dass|,? que|[,:]) ${text("fact")}`,
      String.raw`(?:remember|memori[sz]e|merke? dir|recuerda):? ${text("fact")}`,
    ),
    plan: ({ fact }) => (fact === undefined ? undefined : steps([remember(fact)])),
  },
  {
    name: "recall",
    patterns: rule(
      String.raw`what do you (?:remember|know about me).*|(?:show|read|list)(?: me)? (?:your|the) memory|what(?:'s| is) in (?:your )?memory`,
      String.raw`woran erinnerst du dich.*|qué recuerdas.*`,
    ),
    plan: () => steps([recall()]),
  },
  {
    name: "to-do list",
    patterns: rule(
      String.raw`(?:make|create|write|start|give)(?: me)?(?: an?| the)? (?:to-?do|to do|task) ?list(?:(?: for| about| with| of|:) ${text("topic")})?`,
      String.raw`(?:mach|erstelle?)(?: mir)? eine (?:todo-?|aufgaben)liste(?:(?: für| mit|:) ${text("topic")})?`,
      String.raw`haz(?:me)? una lista de tareas(?:(?: para| con|:) ${text("topic")})?`,
    ),
    plan: ({ topic }) => steps([makeTodoList(todoItems(topic))]),
  },
  {
    name: "question",
    patterns: rule(String.raw`ask me\b.*|frag mich\b.*|pregúntame.*`),
    plan: () => steps([askUser()]),
  },
  {
    name: "write a file",
    patterns: rule(
      writing(
        "(?:write|create|make|save)",
        "(?:text ?)?(?:note|file)",
        "saying|that says|containing|about|with the (?:text|content|words)|with",
      ),
      writing("(?:schreibe?|erstelle?)", "(?:notiz|datei)", "mit dem (?:text|inhalt)|mit"),
      writing("(?:escribe|crea)", "(?:nota|archivo)", "que diga|con el texto|con"),
      String.raw`(?:write|save|put) ${text("text")} (?:to|into|in) (?:the |a )?(?:file )?${PATH}`,
    ),
    plan: ({ path, text: content }) => {
      const target = path === undefined ? NOTE_PATH : cleanPath(path)
      return steps([writePath(target, content ?? "This note was written by the Hermes demo.")], target)
    },
  },
  {
    name: "replace in a file",
    patterns: rule(
      String.raw`(?:replace|change|swap) ${text("from")} (?:with|to|by|into) ${text("to")} in (?:the )?(?:file )?${PATH}`,
      String.raw`(?:edit|change|in) (?:the )?(?:file )?${PATH}[:,]?(?: and)? (?:replace|change) ${text("from")} (?:with|to|by|into) ${text("to")}`,
      String.raw`ersetze ${text("from")} durch ${text("to")} in (?:der datei )?${PATH}`,
      String.raw`(?:reemplaza|cambia) ${text("from")} por ${text("to")} en (?:el archivo )?${PATH}`,
    ),
    plan: ({ path, from, to }, context) => {
      const target = resolvePath(path, context)
      if (target === undefined || from === undefined || to === undefined) return undefined
      return steps(replaceInPath({ path: target, from, to }, context.tools), target)
    },
  },
  {
    name: "add to a file",
    patterns: rule(String.raw`(?:append|add) ${text("text")} to (?:the )?(?:end of )?(?:the )?(?:file )?${PATH}`),
    plan: ({ path, text: line }, context) => {
      const target = resolvePath(path, context)
      return target === undefined || line === undefined ? undefined : steps(appendToPath(target, line), target)
    },
  },
  {
    name: "edit without a change",
    patterns: rule(String.raw`(?:edit|change) (?:the )?(?:file )?${PATH}`),
    plan: ({ path }, context) => {
      const target = resolvePath(path, context)
      return target === undefined
        ? undefined
        : answer(`Tell me what to change, for example: replace "old words" with "new words" in ${target}`)
    },
  },
  {
    name: "delete a file",
    patterns: rule(
      String.raw`(?:delete|remove|erase|rm|lösche?n?|borra|elimina) (?:the |die |el |la )?(?:(?<noun>file|note|folder|datei|notiz|archivo|nota) )?${PATH}(?: again)?`,
    ),
    plan: ({ path, noun }, context) => {
      const target = resolvePath(path, context, noun)
      if (target === undefined) return undefined
      if (/^[/~]|^\.{1,2}(?:\/|$)|(?:^|\/)\.\.(?:\/|$)/.test(target)) {
        return answer(`The demo deletes only files below the working directory, not ${target}.`)
      }
      return steps([deletePath(target)], target)
    },
  },
  {
    name: "run a command",
    patterns: rule(
      String.raw`(?:run|execute|führe|ejecuta) (?:(?:the )?command |den befehl |el comando )?(?<command>${QUOTED}|.+?)(?: aus)?`,
      String.raw`what(?:'s| is) the (?:time|date)(?: now| today)?|what (?:time|day|date) is it(?: now| today)?|wie spät ist es|qué hora es`,
    ),
    plan: ({ command, command_quoted: quoted }) => {
      if (command === undefined) return steps([runCommand("date")])
      const isKnown = HARMLESS.test(command) && !/[;&|<>$`\\]/.test(command)
      return quoted === "yes" || isKnown
        ? steps([runCommand(command)])
        : answer(`Put the command in backticks, so that I know where it begins and ends: run \`${command}\``)
    },
  },
  {
    name: "find files",
    patterns: rule(
      String.raw`(?:find|search|look)(?: for)?(?: all)?(?: the)? files? (?:named|called|matching) ${PATH}`,
    ),
    plan: ({ path }) => (path === undefined ? undefined : steps([findFiles(path)])),
  },
  {
    name: "search",
    patterns: rule(
      String.raw`(?!.*\b(?:web|internet|online)\b)(?:search|look|grep|find)\b.*?\bfor ${text("pattern")}(?: in (?:the )?(?:folder |file |directory )?${PATH})?`,
      String.raw`(?:grep|find) ${text("pattern")} in (?:the )?(?:folder |file |directory )?${PATH}`,
      String.raw`grep ${text("pattern")}`,
      String.raw`suche? (?:.*?)nach ${text("pattern")}`,
      String.raw`busca ${text("pattern")}(?: en (?:esta carpeta|los archivos))?`,
    ),
    plan: ({ pattern, path }) =>
      pattern === undefined ? undefined : steps([searchText(withoutLocation(pattern), folder(path))]),
  },
  {
    name: "list files",
    patterns: rule(
      String.raw`(?:list|show|see)(?: me)?(?: all)?(?: the| my| your)? (?:files|folder|directory)(?: here| in (?:this|the(?: current)?|my) (?:folder|directory))?`,
      String.raw`(?:list|show|see)(?: me)?(?: all)?(?: the| my)? files (?:in|of|under) (?:the )?(?:folder |directory )?${PATH}`,
      String.raw`(?:what|which) files (?:are|do|does|can|is)\b.*|what(?:'s| is) in (?:this|the(?: current)?) (?:folder|directory)`,
      String.raw`(?:ls|dir)(?: ${PATH})?`,
      String.raw`(?:zeige?|liste)(?: mir)?(?: alle| die)* dateien\b.*|welche dateien\b.*`,
      String.raw`(?:lista|muestra|muéstrame|enumera)(?: todos)?(?: los)? (?:archivos|ficheros)\b.*`,
    ),
    plan: ({ path }) => steps([listFiles(folder(path))]),
  },
  {
    name: "read a file",
    patterns: rule(
      String.raw`(?:read|open|show|cat|print|display|lies|zeige?|lee|muestra)(?: me| mir)? (?:the |die |el |la )?(?:contents? of )?(?:the )?(?:(?<noun>file|note|datei|notiz|archivo|nota) )?${PATH}(?: back| again| to me| vor)*`,
      String.raw`what(?:'s| is) (?:in|inside) (?:the )?(?:(?<noun>file|note) )?${PATH}`,
    ),
    plan: ({ path, noun }, context) => {
      const target = resolvePath(path, context, noun)
      return target === undefined ? undefined : steps([readPath(target)], target)
    },
  },
]

/** Read-only commands; others must be quoted, because "run the tests" is not a command. */
const HARMLESS =
  /^(?:date|uname|pwd|whoami|ls|echo|uptime|hostname|cal|df|du|free|id|ps|which|wc|head|tail|cat|seq|sleep|true|false|git (?:status|log|diff|branch)|(?:node|npm|python3?|git) --version)(?:\s|$)/

function writing(verb: string, noun: string, separator: string): string {
  const optionalPath = String.raw`(?:(?: called| named| to| in| into)? (?!(?:${separator})\b)${PATH.replace("[^\\s,;]+", "[^\\s,;:]+")})?`
  return String.raw`${verb}(?: me| mir| una?| eine| an?| the)*(?: new| short)? ${noun}${optionalPath}(?:(?::| (?:${separator}):?) ${text("text")})?`
}

function steps(list: readonly Step[], path?: string): StepsResult {
  return { kind: "steps", steps: list, ...(path === undefined ? {} : { path }) }
}

function answer(text: string): AnswerResult {
  return { kind: "answer", text }
}

const PRONOUNS = new Set(["it", "that", "this", "note", "file", "sie", "es", "lo", "la", "esa"])

/** A bare word is a path only when it looks like one, was quoted, or follows a noun such as "file". */
function resolvePath(path: string | undefined, context: RuleContext, noun?: string): string | undefined {
  if (path === undefined) return undefined
  if (PRONOUNS.has(path.toLowerCase())) return context.lastPath ?? NOTE_PATH
  const clean = cleanPath(path)
  return noun !== undefined || /[./\s]/.test(clean) ? clean : undefined
}

function cleanPath(path: string): string {
  return path.replace(/(?<=[^./])[.:]+$/u, "")
}

function folder(path: string | undefined): string | undefined {
  if (path === undefined || /^(?:\.|here|it|this|folder|directory|files|project)$/i.test(path)) return undefined
  return cleanPath(path)
}

/** "search for X in this folder": removes the location, because the search starts there anyway. */
function withoutLocation(pattern: string): string {
  return pattern.replace(/ (?:here|in (?:this|the|my)(?: current)? (?:folder|directory|files|project))$/i, "")
}

function todoItems(topic: string | undefined): readonly string[] {
  if (topic === undefined) return ["List the files here", "Write a note", "Connect a real model"]
  const items = topic.split(/\s*(?:,|;|\band\b|\bund\b|\by\b)\s*/u).filter((item) => item !== "")
  return items.length > 1 ? items : [`Prepare ${topic}`, `Do ${topic}`, `Check ${topic}`]
}
