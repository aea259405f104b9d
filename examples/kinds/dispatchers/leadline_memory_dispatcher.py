import asyncio

from leadline.contracts import CarryOut
from leadline.plugin import Submission, dispatcher


@dispatcher("Orders in memory, for one worker in the process of the server")
class MemoryDispatcher(dict[Submission, int]):
    async def submit(self, order: Submission, /) -> None:
        self.setdefault(order, 0)

    async def cancel(self, order: Submission, /) -> None:
        self.pop(order, None)

    async def work(self, carry_out: CarryOut, /, *, slots: int, closing: asyncio.Event) -> None:
        tasks: dict[Submission, asyncio.Task[None]] = {}
        while tasks or not closing.is_set():
            for order in [order for order, task in tasks.items() if task.done()]:
                if tasks.pop(order).exception() is None:
                    self.pop(order, None)
            if not closing.is_set() and len(tasks) < slots and (waiting := self.keys() - tasks):
                order = max(waiting, key=lambda order: order.priority)
                self[order] += 1  # the number of the attempt
                tasks[order] = asyncio.create_task(carry_out(order, self[order]))
            await asyncio.sleep(0.01)
