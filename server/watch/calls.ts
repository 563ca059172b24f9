import { type Problem, ServiceError } from '../../protocol/errors.ts'

interface Call {
  resolve(result: unknown): void
  reject(error: ServiceError): void
}

/** Requests that were posted to a thread and not answered yet. */
export class Calls {
  readonly #calls = new Map<number, Call>()
  #next = 1

  /** `post` sends the request under the number it is given. */
  open<Result>(post: (id: number) => void): Promise<Result> {
    const id = this.#next++
    return new Promise<Result>((resolve, reject) => {
      this.#calls.set(id, { resolve: resolve as (result: unknown) => void, reject })
      try {
        post(id)
      } catch (error) {
        this.#calls.delete(id)
        throw error
      }
    })
  }

  done(id: number, result: unknown): void {
    this.#take(id)?.resolve(result)
  }

  refused(id: number, problem: Problem): void {
    this.#take(id)?.reject(ServiceError.from(problem))
  }

  /** The thread is gone. */
  failAll(error: ServiceError): void {
    for (const call of this.#calls.values()) call.reject(error)
    this.#calls.clear()
  }

  #take(id: number): Call | undefined {
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    return call
  }
}
