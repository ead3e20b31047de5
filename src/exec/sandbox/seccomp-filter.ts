import { arch, endianness } from "node:os"

export interface SeccompOptions {
  /** Allows Unix sockets, because the user listed some: a filter cannot tell one from another. */
  readonly unixSockets?: boolean
  readonly processor?: string
}

/**
 * Returns the seccomp program for sandboxed commands as `bwrap --seccomp` reads it; undefined on a processor without a table below. It refuses
 * what mounts cannot confine: sockets other than those of the network namespace (Unix sockets reach programs outside, and abstract ones have no
 * path to hide; the sockets of virtual machines reach the host), io_uring (which opens sockets without a system call of its own), the
 * kernel's key rings, and user namespaces: in one of its own a command may mount, and renames what is protected where the mounts are not
 * visible. `socketpair` stays allowed except for datagrams, because such a socket can still be connected to another one.
 */
export function seccompFilter({ unixSockets = false, processor = arch() }: SeccompOptions = {}):
  | Uint8Array
  | undefined {
  const variants = VARIANTS[processor]
  if (variants === undefined || endianness() !== "LE") return undefined
  return assemble([
    { load: ARCHITECTURE_OFFSET },
    ...variants.map((variant, index) => ({ ifEqual: variant.architecture, goTo: `variant ${index}` })),
    { goTo: "refuse" },
    ...variants.flatMap((variant, index) => checksOf(variant, `variant ${index}`)),
    { label: "process" },
    { load: FIRST_ARGUMENT_OFFSET },
    { ifAnyBitOf: CLONE_NEWUSER, goTo: "refuse" },
    { goTo: "allow" },
    { label: "missing" },
    { answer: MISSING },
    { label: "socketpair" },
    { load: SECOND_ARGUMENT_OFFSET },
    ...(unixSockets ? [] : [{ ifAnyBitOf: DATAGRAM_BIT, goTo: "refuse" }]),
    { goTo: "allow" },
    { label: "socket" },
    { load: FIRST_ARGUMENT_OFFSET },
    ...[...(unixSockets ? [AF_UNIX] : []), ...CONFINED_FAMILIES].map((family) => ({ ifEqual: family, goTo: "allow" })),
    { label: "refuse" },
    { answer: REFUSE },
    { label: "allow" },
    { answer: ALLOW },
  ])
}

/** The system calls of one instruction set. A processor runs programs of more than one, and their numbers differ. */
interface Variant {
  readonly architecture: number
  readonly refused: readonly number[]
  /** Numbers from here on belong to yet another set. */
  readonly refusedFrom?: number
  readonly socket: number
  readonly socketpair: number
  readonly clone: number
  readonly unshare: number
}

const IO_URING_SETUP = 425
/** Its flags are behind a pointer, which a filter cannot read. Where it does not exist, programs use `clone`. */
const CLONE3 = 435

const VARIANTS: Readonly<Record<string, readonly Variant[]>> = {
  x64: [
    // add_key, request_key, keyctl; x32 numbers start at 2^30.
    {
      architecture: 0xc000003e,
      socket: 41,
      socketpair: 53,
      clone: 56,
      unshare: 272,
      refused: [248, 249, 250, IO_URING_SETUP],
      refusedFrom: 0x40000000,
    },
    // socketcall is refused as a whole: a filter cannot read the arguments behind its pointer.
    {
      architecture: 0x40000003,
      socket: 359,
      socketpair: 360,
      clone: 120,
      unshare: 310,
      refused: [102, 286, 287, 288, IO_URING_SETUP],
    },
  ],
  arm64: [
    {
      architecture: 0xc00000b7,
      socket: 198,
      socketpair: 199,
      clone: 220,
      unshare: 97,
      refused: [217, 218, 219, IO_URING_SETUP],
    },
    {
      architecture: 0x40000028,
      socket: 281,
      socketpair: 288,
      clone: 120,
      unshare: 337,
      refused: [102, 309, 310, 311, IO_URING_SETUP],
    },
  ],
}

function checksOf(variant: Variant, label: string): readonly Step[] {
  return [
    { label },
    { load: NUMBER_OFFSET },
    ...(variant.refusedFrom === undefined ? [] : [{ ifAtLeast: variant.refusedFrom, goTo: "refuse" }]),
    ...variant.refused.map((number) => ({ ifEqual: number, goTo: "refuse" })),
    { ifEqual: variant.socket, goTo: "socket" },
    { ifEqual: variant.socketpair, goTo: "socketpair" },
    { ifEqual: variant.clone, goTo: "process" },
    { ifEqual: variant.unshare, goTo: "process" },
    { ifEqual: CLONE3, goTo: "missing" },
    { goTo: "allow" },
  ]
}

/** Offsets in `struct seccomp_data`; of the arguments the low half. */
const NUMBER_OFFSET = 0
const ARCHITECTURE_OFFSET = 4
const FIRST_ARGUMENT_OFFSET = 16
const SECOND_ARGUMENT_OFFSET = 24

const CLONE_NEWUSER = 0x10000000
/** Set in SOCK_DGRAM and in SOCK_RAW, which means the same for Unix sockets, but not in SOCK_STREAM and SOCK_SEQPACKET. */
const DATAGRAM_BIT = 0x2

const AF_UNIX = 1
/** AF_INET, AF_INET6 and AF_NETLINK: they belong to the network namespace. */
const CONFINED_FAMILIES = [2, 10, 16]
const ALLOW = 0x7fff0000
/** Answers EPERM. */
const REFUSE = 0x00050001
/** Answers ENOSYS. */
const MISSING = 0x00050026

type Step =
  | { readonly label: string }
  | { readonly load: number }
  | { readonly ifEqual: number; readonly goTo: string }
  | { readonly ifAtLeast: number; readonly goTo: string }
  | { readonly ifAnyBitOf: number; readonly goTo: string }
  | { readonly goTo: string }
  | { readonly answer: number }

const BYTES_PER_INSTRUCTION = 8

/** Translates the steps to classic BPF, where a conditional jump reaches at most 255 instructions ahead. */
function assemble(steps: readonly Step[]): Uint8Array {
  const labels = new Map<string, number>()
  const instructions: Exclude<Step, { label: string }>[] = []
  for (const step of steps) {
    if ("label" in step) labels.set(step.label, instructions.length)
    else instructions.push(step)
  }
  const program = Buffer.alloc(instructions.length * BYTES_PER_INSTRUCTION)
  for (const [index, step] of instructions.entries()) {
    const distance = "goTo" in step ? (labels.get(step.goTo) ?? Number.NaN) - index - 1 : 0
    const { code, jump = 0, value } = encode(step, distance)
    const at = index * BYTES_PER_INSTRUCTION
    program.writeUInt16LE(code, at)
    program.writeUInt8(jump, at + 2)
    program.writeUInt32LE(value, at + 4)
  }
  return program
}

/** Operation codes of `linux/bpf_common.h`. */
const LOAD_WORD = 0x20
const JUMP = 0x05
const JUMP_IF_EQUAL = 0x15
const JUMP_IF_AT_LEAST = 0x35
const JUMP_IF_ANY_BIT = 0x45
const RETURN = 0x06

function encode(step: Exclude<Step, { label: string }>, distance: number): Instruction {
  if ("load" in step) return { code: LOAD_WORD, value: step.load }
  if ("answer" in step) return { code: RETURN, value: step.answer }
  if ("ifEqual" in step) return { code: JUMP_IF_EQUAL, jump: distance, value: step.ifEqual }
  if ("ifAtLeast" in step) return { code: JUMP_IF_AT_LEAST, jump: distance, value: step.ifAtLeast }
  if ("ifAnyBitOf" in step) return { code: JUMP_IF_ANY_BIT, jump: distance, value: step.ifAnyBitOf }
  return { code: JUMP, value: distance }
}

interface Instruction {
  readonly code: number
  /** Instructions to skip when the condition holds. */
  readonly jump?: number
  readonly value: number
}
