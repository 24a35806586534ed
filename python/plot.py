"""Draws the response times of every server: plot.py CAPTURE PICTURE"""

import sys

import matplotlib.pyplot as plt
import polars
import qdissect

capture, picture = sys.argv[1:]
answered = polars.DataFrame(qdissect.read([capture], "exchanges")).filter(polars.col("response_time_ns").is_not_null())
for (server,), rows in answered.group_by("server_ip", maintain_order=True):
    plt.scatter(rows["request_time"], rows["response_time_ns"] / 1e6, s=8, label=server)
plt.yscale("log")
plt.ylabel("response time, ms")
plt.legend()
plt.gcf().autofmt_xdate()
plt.savefig(picture)
