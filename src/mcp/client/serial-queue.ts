/** Runs work one after the other, in the order of the calls. */
export interface SerialQueue {
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run: (work) => {
      const next = last.then(work, work)
      last = next.catch(() => undefined)
      return next
    },
  }
}
