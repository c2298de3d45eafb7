"""What a team would write in an evening: entitlements as JSON in Redis, read by customer id, with a bearer key."""

import os

import redis.asyncio
from fastapi import FastAPI, Header, HTTPException, Response

store = redis.asyncio.Redis(port=int(os.environ["REDIS_PORT"]))
app = FastAPI()


@app.get("/customers/{customer}/entitlements")
async def entitlements(customer: str, authorization: str = Header()) -> Response:
    if authorization != "Bearer " + os.environ["KEY"]:
        raise HTTPException(401)
    body = await store.get("entitlements:" + customer)
    if body is None:
        raise HTTPException(404)
    return Response(body, media_type="application/json")
