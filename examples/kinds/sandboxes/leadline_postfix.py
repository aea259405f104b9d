import operator

from leadline.plugin import Call, Code, Execution, sandbox

DO = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@sandbox("Arithmetic: 3 4 + 2 * is 14")
class Postfix:
    async def execute(self, code: Code, call: Call, /) -> Execution:
        if code.language != "postfix":
            return Execution(stderr=f"no {code.language} here", exit_code=64)
        stack: list[float] = []
        try:
            for word in code.text.split():
                stack.append(DO[word](stack.pop(-2), stack.pop()) if word in DO else float(word))
        except (ValueError, IndexError, ZeroDivisionError) as error:
            return Execution(stderr=f"{word}: {error}", exit_code=1)
        return Execution(value=list(stack))
