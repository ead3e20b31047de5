export interface DiffSides {
  /** The text before; undefined for a new file. */
  readonly before: string | undefined
  /** The text afterwards; undefined for a file that is gone. */
  readonly after: string | undefined
  /** The name before, where a file was moved. */
  readonly movedFrom?: string
}

const CONTEXT_LINES = 3

/** The change of one file as a unified diff, or "" when there is none. CR at line ends is not shown. */
export function unifiedDiff(name: string, { before, after, movedFrom }: DiffSides): string {
  const old = fileLines(before ?? "")
  const current = fileLines(after ?? "")
  const hunks = hunksOf(changedRuns(old, current), old.length, current.length)
  if (hunks.length === 0 && movedFrom === undefined && before !== undefined && after !== undefined) return ""
  const header = [
    `--- ${before === undefined ? "/dev/null" : `a/${diffName(movedFrom ?? name)}`}`,
    `+++ ${after === undefined ? "/dev/null" : `b/${diffName(name)}`}`,
  ]
  return [...header, ...hunks.flatMap((hunk) => renderHunk(hunk, old, current))].join("\n") + "\n"
}

/** Lines with a mark on a last line without a line feed, which makes it another line than one with it. */
function fileLines(text: string): readonly string[] {
  if (text === "") return []
  const lines = text.replaceAll("\r\n", "\n").split("\n")
  if (lines.at(-1) === "") return lines.slice(0, -1)
  return [...lines.slice(0, -1), `${lines.at(-1) ?? ""}${NO_NEWLINE}`]
}

const NO_NEWLINE = "\n\\ No newline at end of file"

function diffName(name: string): string {
  return name.replace(/^\/+/, "")
}

/** Lines `old[oldStart..oldEnd)` were replaced by `current[newStart..newEnd)`; everything between two runs is equal. */
interface Run {
  readonly oldStart: number
  readonly oldEnd: number
  readonly newStart: number
  readonly newEnd: number
}

function changedRuns(old: readonly string[], current: readonly string[]): readonly Run[] {
  const shorter = Math.min(old.length, current.length)
  let head = 0
  while (head < shorter && old[head] === current[head]) head += 1
  let tail = 0
  while (tail < shorter - head && old[old.length - 1 - tail] === current[current.length - 1 - tail]) tail += 1
  const middle = { oldStart: head, oldEnd: old.length - tail, newStart: head, newEnd: current.length - tail }
  if (middle.oldStart === middle.oldEnd && middle.newStart === middle.newEnd) return []
  if (middle.oldStart === middle.oldEnd || middle.newStart === middle.newEnd) return [middle]
  return shortestRuns(old, current, middle) ?? [middle]
}

/** More differences than this are shown as one block: the search takes time and memory with their square. */
const MAX_DIFFERENCES = 1000

/** The fewest lines removed and added (Myers), or undefined where these are too many to look for. */
function shortestRuns(old: readonly string[], current: readonly string[], span: Run): readonly Run[] | undefined {
  const height = span.oldEnd - span.oldStart
  const width = span.newEnd - span.newStart
  const limit = Math.min(height + width, MAX_DIFFERENCES)
  const reached = new Int32Array(2 * limit + 3)
  const center = limit + 1
  const steps: Int32Array[] = []
  for (let differences = 0; differences <= limit; differences += 1) {
    steps.push(reached.slice())
    for (let diagonal = -differences; diagonal <= differences; diagonal += 2) {
      const down =
        diagonal === -differences ||
        (diagonal !== differences && at(reached, center + diagonal - 1) < at(reached, center + diagonal + 1))
      let x = down ? at(reached, center + diagonal + 1) : at(reached, center + diagonal - 1) + 1
      let y = x - diagonal
      while (x < height && y < width && old[span.oldStart + x] === current[span.newStart + y]) {
        x += 1
        y += 1
      }
      reached[center + diagonal] = x
      if (x >= height && y >= width) return runsOf(steps, { differences, center, height, width, span })
    }
  }
  return undefined
}

interface Trace {
  readonly differences: number
  readonly center: number
  readonly height: number
  readonly width: number
  readonly span: Run
}

/** Walks the steps of the search back from the end and joins neighbouring differences. */
function runsOf(steps: readonly Int32Array[], { differences, center, height, width, span }: Trace): readonly Run[] {
  const runs: Run[] = []
  let [x, y] = [height, width]
  for (let step = differences; step > 0; step -= 1) {
    const reached = steps[step] ?? new Int32Array()
    const diagonal = x - y
    const down =
      diagonal === -step ||
      (diagonal !== step && at(reached, center + diagonal - 1) < at(reached, center + diagonal + 1))
    const beforeX = down ? at(reached, center + diagonal + 1) : at(reached, center + diagonal - 1)
    const beforeY = beforeX - (down ? diagonal + 1 : diagonal - 1)
    const run = {
      oldStart: span.oldStart + beforeX,
      oldEnd: span.oldStart + beforeX + (down ? 0 : 1),
      newStart: span.newStart + beforeY,
      newEnd: span.newStart + beforeY + (down ? 1 : 0),
    }
    const next = runs.at(-1)
    if (next !== undefined && next.oldStart === run.oldEnd && next.newStart === run.newEnd) {
      runs[runs.length - 1] = { ...next, oldStart: run.oldStart, newStart: run.newStart }
    } else runs.push(run)
    ;[x, y] = [beforeX, beforeY]
  }
  return runs.toReversed()
}

function at(numbers: Int32Array, index: number): number {
  return numbers[index] ?? 0
}

interface Hunk extends Run {
  readonly runs: readonly Run[]
}

/** Runs whose context lines would touch share a hunk. */
function hunksOf(runs: readonly Run[], oldLength: number, newLength: number): readonly Hunk[] {
  const groups: Run[][] = []
  for (const run of runs) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    if (group !== undefined && last !== undefined && run.oldStart - last.oldEnd <= 2 * CONTEXT_LINES) group.push(run)
    else groups.push([run])
  }
  return groups.flatMap((group) => {
    const [first, last] = [group[0], group.at(-1)]
    if (first === undefined || last === undefined) return []
    const before = Math.min(CONTEXT_LINES, first.oldStart)
    const after = Math.min(CONTEXT_LINES, oldLength - last.oldEnd, newLength - last.newEnd)
    return [
      {
        runs: group,
        oldStart: first.oldStart - before,
        oldEnd: last.oldEnd + after,
        newStart: first.newStart - before,
        newEnd: last.newEnd + after,
      },
    ]
  })
}

function renderHunk(hunk: Hunk, old: readonly string[], current: readonly string[]): string[] {
  const lines = [`@@ -${range(hunk.oldStart, hunk.oldEnd)} +${range(hunk.newStart, hunk.newEnd)} @@`]
  let at = hunk.oldStart
  for (const run of hunk.runs) {
    lines.push(...old.slice(at, run.oldStart).map((line) => ` ${line}`))
    lines.push(...old.slice(run.oldStart, run.oldEnd).map((line) => `-${line}`))
    lines.push(...current.slice(run.newStart, run.newEnd).map((line) => `+${line}`))
    at = run.oldEnd
  }
  lines.push(...old.slice(at, hunk.oldEnd).map((line) => ` ${line}`))
  return lines
}

/** `first,count` counted from 1; an empty range names the line before it. */
function range(start: number, end: number): string {
  const count = end - start
  return count === 1 ? `${start + 1}` : `${count === 0 ? start : start + 1},${count}`
}
