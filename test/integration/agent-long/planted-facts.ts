import { assertNever } from "../../../src/base/assert-never.ts"
import { seededRandom } from "../../support/seeded-random.ts"

/** A sentence that appears once in a session, and the query with which a user would search for it. */
export interface PlantedFact {
  readonly sentence: string
  readonly question: string
  readonly turn: number
  readonly source: FactSource
}

export type FactSource = "user" | "assistant" | "command output" | "file" | "written file"

const FACT_SOURCES: readonly FactSource[] = [
  "user",
  "command output",
  "user",
  "assistant",
  "file",
  "user",
  "written file",
]

/** One exchange of the session that the facts are planted in. */
export interface PlantedTurn {
  readonly userText: string
  readonly reply: string
  readonly call?: { readonly name: string; readonly input: unknown }
}

export interface PlantedSession {
  readonly facts: readonly PlantedFact[]
  readonly turns: readonly PlantedTurn[]
  /** Files that the session reads. */
  readonly files: Readonly<Record<string, string>>
}

const NAMES =
  "Avocet Bittern Curlew Dunlin Egret Fulmar Gannet Heron Ibis Jacana Kestrel Lapwing Merlin Nightjar Oriole Plover Quail Redstart Siskin Tern Umbrette Veery Whinchat Xenops Yaffle Zosterops Bunting Chough Dotterel Eider Fieldfare Goosander Hoopoe Jackdaw Kingfisher Linnet Martin Nuthatch Ouzel Pipit".split(
    " ",
  )
const OTHERS = "Sparrow Starling Magpie Robin Wren Thrush Crow Raven Pigeon Dove".split(" ")

const KINDS: readonly ((name: string, value: number) => readonly [sentence: string, question: string])[] = [
  (name, value) => [`The staging database of ${name} listens on port ${value}.`, `${name} staging database port`],
  (name, value) => [
    `Invoices for ${name} carry the reference ${value} in the subject.`,
    `invoice reference of ${name}`,
  ],
  (name, value) => [
    `Backups of ${name} run every ${value} minutes on the small server.`,
    `how often backups run ${name}`,
  ],
  (name, value) => [
    `For questions about ${name} call Mrs. Odalys, extension ${value}.`,
    `extension to call about ${name}`,
  ],
  (name, value) => [`${name} must be built with --level=${value}, or its tests hang.`, `level to build ${name} with`],
  (name, value) => [`The licence of ${name} ends at ${value} seats.`, `how many seats licence ${name}`],
  (name, value) => [
    `The cabinet of ${name} stands in room ${value} on the second floor.`,
    `room of the ${name} cabinet`,
  ],
]

/** Spreads facts evenly over the turns, among sentences of the same kinds about other things. */
export function plantFacts(seed: number, counts: { readonly facts: number; readonly turns: number }): PlantedSession {
  const random = seededRandom(seed)
  const number = (): number => 1000 + Math.floor(random() * 9000)
  const facts = Array.from({ length: counts.facts }, (_, index): PlantedFact => {
    const [sentence, question] = createFact(index, nameAt(NAMES, index), number())
    const turn = Math.floor(((index + random()) * counts.turns) / counts.facts)
    return { sentence, question, turn, source: FACT_SOURCES[index % FACT_SOURCES.length] ?? "user" }
  })
  const filler = (sentences: number): string =>
    Array.from({ length: sentences }, () => {
      const pick = Math.floor(random() * 1000)
      if (pick % 25 === 0)
        return `I looked at ${nameAt(NAMES, pick / 25)} again and there is nothing new about it today.`
      return createFact(pick, nameAt(OTHERS, pick), number())[0]
    }).join(" ")
  const files: Record<string, string> = {}
  const turns = Array.from({ length: counts.turns }, (_, turn): PlantedTurn => {
    const fact = facts.find((each) => each.turn === turn)
    const factFrom = (source: FactSource): string => (fact?.source === source ? ` ${fact.sentence} ` : " ")
    const name = `notes/day-${turn}.md`
    files[name] = `${filler(12)}\n${factFrom("file").trim()}\n${filler(6)}\n`
    return {
      userText: `Turn ${turn}. ${filler(4)}${factFrom("user")}${filler(2)}`,
      reply: `Noted for ${turn}. ${filler(5)}${factFrom("assistant")}${filler(1)}`,
      ...callOf(fact?.source ?? (turn % 4 === 0 ? "file" : "user"), { turn, name, factFrom, filler }),
    }
  })
  return { facts, turns, files }
}

function callOf(
  source: FactSource,
  context: {
    readonly turn: number
    readonly name: string
    readonly factFrom: (source: FactSource) => string
    readonly filler: (sentences: number) => string
  },
): Pick<PlantedTurn, "call"> {
  const { turn, name, factFrom, filler } = context
  const text = `${filler(10)}\n${factFrom(source).trim()}\n${filler(10)}`
  switch (source) {
    case "file":
      return { call: { name: "read_file", input: { path: name } } }
    case "command output":
      return { call: { name: "terminal", input: { command: `cat <<'END'\n${text}\nEND` } } }
    case "written file":
      return { call: { name: "write_file", input: { path: `out/${turn}.md`, content: text } } }
    case "user":
    case "assistant":
      return {}
    default:
      return assertNever(source)
  }
}

function createFact(kind: number, name: string, value: number): readonly [sentence: string, question: string] {
  const create = KINDS[kind % KINDS.length]
  if (create === undefined) throw new Error("there are no kinds of facts")
  return create(name, value)
}

function nameAt(names: readonly string[], index: number): string {
  return names[Math.floor(index) % names.length] ?? ""
}
